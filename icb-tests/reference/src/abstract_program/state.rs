//! The state of a running program as plain data, and what a step says about itself.
//!
//! How one state follows from another is said in [`interpreter`](super::interpreter) and `effects`.

use super::language::{REGISTER_COUNT, Value};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A thing that steps can conflict on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Object {
    /// An atomic variable.
    Variable(usize),
    /// A data cell.
    Cell(usize),
    /// A mutex.
    Mutex(usize),
    /// A condition variable and its queue.
    Condvar(usize),
    /// A thread, as what is spawned, begun, ended and joined.
    Thread(usize),
    /// Whether a waiting thread has been notified.
    Notification(usize),
    /// A channel.
    Channel(usize),
}

/// A step's access to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The object.
    pub object: Object,
    /// Whether it is a write; two reads do not conflict.
    pub write: bool,
}

/// What a step means to the memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryEffect {
    /// An atomic load (or a failed compare and exchange).
    AtomicLoad(usize, Ordering),
    /// An atomic store.
    AtomicStore(usize, Ordering),
    /// An atomic read-modify-write.
    AtomicUpdate(usize, Ordering),
    /// A mutex is taken.
    Acquire(usize),
    /// A mutex is released.
    Release(usize),
    /// A thread is spawned.
    Spawn(usize),
    /// A thread that has ended is joined.
    Join(usize),
    /// A data cell is read.
    CellRead(usize),
    /// A data cell is written.
    CellWrite(usize),
}

/// What a step touched, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// For the dependence order.
    pub accesses: Vec<Access>,
    /// For happens-before.
    pub effects: Vec<MemoryEffect>,
}

impl Step {
    pub(super) fn read(&mut self, object: Object) {
        self.accesses.push(Access { object, write: false });
    }

    pub(super) fn write(&mut self, object: Object) {
        self.accesses.push(Access { object, write: true });
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// Not spawned yet.
    Unborn,
    /// Its begin, a step of its own, is to come.
    Beginning,
    /// Stands before its next visible operation.
    Running,
    /// Waits for a notification.
    Waiting,
    /// Has been notified and wants its mutex back.
    Notified,
    Ended,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Thread {
    pub(super) phase: Phase,
    pub(super) counter: usize,
    pub(super) registers: [usize; REGISTER_COUNT],
    pub(super) yielded: bool,
}

/// Everything that the future of an execution depends on, except which thread ran last.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub(super) threads: Vec<Thread>,
    pub(super) variables: Vec<usize>,
    pub(super) cells: Vec<usize>,
    pub(super) owners: Vec<Option<usize>>,
    pub(super) waiters: Vec<Vec<usize>>,
    /// The values in each channel.
    pub(super) channels: Vec<VecDeque<usize>>,
}

impl State {
    /// Values of the atomic variables.
    #[must_use]
    pub fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// Values of the data cells.
    #[must_use]
    pub fn cells(&self) -> &[usize] {
        &self.cells
    }

    /// Registers of a thread.
    #[must_use]
    pub fn registers(&self, thread: usize) -> &[usize; REGISTER_COUNT] {
        &self.threads[thread].registers
    }

    /// The threads that have come to life and not ended.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> + '_ {
        let alive = |phase| !matches!(phase, Phase::Unborn | Phase::Ended);
        (0..self.threads.len()).filter(move |&thread| alive(self.threads[thread].phase))
    }

    /// Whether a channel has room for one more value.
    pub(super) fn has_room(&self, channel: usize) -> bool {
        self.channels[channel].len() <= channel
    }

    pub(super) fn value(&self, thread: usize, value: Value) -> usize {
        match value {
            Value::Constant(number) => number,
            Value::Register(register) => self.threads[thread].registers[register],
        }
    }

    pub(super) fn set(&mut self, thread: usize, register: usize, value: usize) {
        self.threads[thread].registers[register] = value;
    }
}
