//! The language: threads of operations on shared objects, and how threads come and go.
//!
//! This file owns the syntax only; what an operation does is said in [`interpreter`](super::interpreter).
//! Jumps are relative, so that blocks of code can be joined and moved without relocation.

use std::fmt;
use std::sync::atomic::Ordering;

/// Registers of each thread. Registers are private, start at 0, and their final values belong to the outcome.
pub const REGISTER_COUNT: usize = 4;

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// This number.
    Constant(usize),
    /// What the register holds.
    Register(usize),
}

/// How a register is compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
}

impl Comparison {
    /// Whether the comparison holds.
    #[must_use]
    pub fn holds(self, left: usize, right: usize) -> bool {
        (left == right) == (self == Comparison::Equal)
    }
}

/// One operation of a thread. Variables, cells, mutexes, condition variables and threads are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "fields are named after what they are")]
pub enum Op {
    /// Atomic load into `to`.
    Load { to: usize, variable: usize, ordering: Ordering },
    /// Atomic store.
    Store { variable: usize, value: Value, ordering: Ordering },
    /// Atomic addition; the old value goes into `to`.
    FetchAdd { to: usize, variable: usize, amount: usize, ordering: Ordering },
    /// Atomic exchange; the old value goes into `to`.
    Swap { to: usize, variable: usize, value: Value, ordering: Ordering },
    /// Atomic compare and exchange; `success` becomes 1 or 0. A failure is a read.
    CompareExchange { success: usize, variable: usize, expected: Value, new: Value, ordering: Ordering },
    /// Locks a mutex, blocking while it is held.
    Lock { mutex: usize },
    /// Tries to lock a mutex; `success` becomes 1 or 0. A failure is a read of the mutex.
    TryLock { success: usize, mutex: usize },
    /// Unlocks a mutex that the thread holds.
    Unlock { mutex: usize },
    /// Two steps: release the mutex and begin to wait; then, once notified, take the mutex again.
    Wait { condvar: usize, mutex: usize },
    /// Wakes one waiter, if there is one; see [`NotifyOrder`].
    NotifyOne { condvar: usize },
    /// Wakes all waiters.
    NotifyAll { condvar: usize },
    /// Sends a value, blocking while the channel is full. Channel `n` has room for `n + 1` values.
    Send { channel: usize, value: Value },
    /// Tries to send; `success` becomes 1 or 0. A failure is a read of the channel.
    TrySend { success: usize, channel: usize, value: Value },
    /// Receives a value into `to`, blocking while the channel is empty. Any thread may.
    Receive { to: usize, channel: usize },
    /// Tries to receive, the value being of no interest; `success` becomes 1 or 0. A failure is a read of the channel.
    TryReceive { success: usize, channel: usize },
    /// Lets a thread come to life.
    Spawn { thread: usize },
    /// Blocks until a thread has ended.
    Join { thread: usize },
    /// The end of a thread as a step of its own ([`Lifecycle::MainWithExitSteps`] only).
    Exit,
    /// A scheduling point after which a switch is free.
    Yield,
    /// A scheduling point that touches nothing.
    Nop,
    /// Plain read of a data cell into `to`.
    CellRead { to: usize, cell: usize },
    /// Plain write of a data cell.
    CellWrite { cell: usize, value: Value },
    /// Local: `to := value`.
    Set { to: usize, value: Value },
    /// Local: `to += value`.
    Add { to: usize, value: Value },
    /// Local: skips the next `count` operations if the comparison holds.
    SkipIf { register: usize, is: Comparison, value: Value, count: usize },
    /// Local: goes back by `count` operations.
    Back { count: usize },
}

/// What an operation is to the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpClass {
    /// Synchronization: always a scheduling point.
    Sync,
    /// A data access: a scheduling point only at the granularity of every access.
    Data,
    /// Touches registers only: never a scheduling point.
    Local,
}

impl Op {
    /// What the operation is to the scheduler.
    #[must_use]
    pub fn class(&self) -> OpClass {
        match self {
            Op::CellRead { .. } | Op::CellWrite { .. } => OpClass::Data,
            Op::Set { .. } | Op::Add { .. } | Op::SkipIf { .. } | Op::Back { .. } => OpClass::Local,
            _ => OpClass::Sync,
        }
    }
}

/// The ordering with which a compare and exchange fails: the strongest that goes with that of its success.
#[must_use]
pub fn failure_ordering(success: Ordering) -> Ordering {
    match success {
        Ordering::Release | Ordering::Relaxed => Ordering::Relaxed,
        Ordering::AcqRel | Ordering::Acquire => Ordering::Acquire,
        _ => Ordering::SeqCst,
    }
}

/// How threads begin and end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lifecycle {
    /// All threads are there from the start; begin and end are no steps.
    AllPresent,
    /// Thread 0 is there from the start and spawns the others, each of which ends with [`Op::Exit`]: the end is a
    /// step, the begin is none.
    MainWithExitSteps,
    /// As in a Rust program: thread 0 is there from the start and spawns the others. A thread's begin is a step
    /// of its own, thread 0's too; its end belongs to its last step.
    MainLikeStd,
}

/// Which waiter [`Op::NotifyOne`] wakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotifyOrder {
    /// The one that has waited longest.
    Fifo,
    /// Any: each waiter is a free branch of the step.
    Any,
}

/// A program: the code of its threads and the conventions under which they run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// What reports call it.
    pub name: String,
    /// The code of each thread.
    pub threads: Vec<Vec<Op>>,
    /// How threads begin and end.
    pub lifecycle: Lifecycle,
    /// Which waiter a notification wakes.
    pub notify: NotifyOrder,
}

/// How many objects of each class a program uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectCounts {
    /// Atomic variables.
    pub variables: usize,
    /// Data cells.
    pub cells: usize,
    /// Mutexes.
    pub mutexes: usize,
    /// Condition variables.
    pub condvars: usize,
    /// Channels.
    pub channels: usize,
}

impl Program {
    /// A program whose threads are all present from the start and whose notifications wake in order.
    #[must_use]
    pub fn new(name: impl Into<String>, threads: Vec<Vec<Op>>) -> Self {
        Program { name: name.into(), threads, lifecycle: Lifecycle::AllPresent, notify: NotifyOrder::Fifo }
    }

    /// The same threads under a new thread 0 that spawns all of them in order and then joins them in order.
    ///
    /// # Panics
    /// If the program has a main thread already, or `lifecycle` has none.
    #[must_use]
    pub fn under_main(&self, lifecycle: Lifecycle) -> Self {
        assert_eq!(self.lifecycle, Lifecycle::AllPresent, "{} has a main thread already", self.name);
        assert_ne!(lifecycle, Lifecycle::AllPresent, "a main thread was asked for");
        let children = 1..=self.threads.len();
        let spawns = children.clone().map(|thread| Op::Spawn { thread });
        let joins = children.map(|thread| Op::Join { thread });
        let mut threads = vec![spawns.chain(joins).collect::<Vec<_>>()];
        threads.extend(self.threads.iter().cloned());
        if lifecycle == Lifecycle::MainWithExitSteps {
            threads[1..].iter_mut().for_each(|code| code.push(Op::Exit));
        }
        Program { name: format!("{} under main", self.name), threads, lifecycle, notify: self.notify }
    }

    /// How many objects the program uses.
    #[must_use]
    pub fn object_counts(&self) -> ObjectCounts {
        let mut counts = ObjectCounts::default();
        let mut use_of = |count: fn(&mut ObjectCounts) -> &mut usize, index: usize| {
            let count = count(&mut counts);
            *count = (*count).max(index + 1);
        };
        for op in self.threads.iter().flatten() {
            match *op {
                Op::Load { variable, .. }
                | Op::Store { variable, .. }
                | Op::FetchAdd { variable, .. }
                | Op::Swap { variable, .. }
                | Op::CompareExchange { variable, .. } => use_of(|c| &mut c.variables, variable),
                Op::CellRead { cell, .. } | Op::CellWrite { cell, .. } => use_of(|c| &mut c.cells, cell),
                Op::Lock { mutex } | Op::TryLock { mutex, .. } | Op::Unlock { mutex } => {
                    use_of(|c| &mut c.mutexes, mutex);
                }
                Op::Wait { condvar, mutex } => {
                    use_of(|c| &mut c.condvars, condvar);
                    use_of(|c| &mut c.mutexes, mutex);
                }
                Op::NotifyOne { condvar } | Op::NotifyAll { condvar } => use_of(|c| &mut c.condvars, condvar),
                Op::Send { channel, .. }
                | Op::TrySend { channel, .. }
                | Op::Receive { channel, .. }
                | Op::TryReceive { channel, .. } => use_of(|c| &mut c.channels, channel),
                _ => {}
            }
        }
        counts
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Constant(number) => write!(f, "{number}"),
            Value::Register(register) => write!(f, "r{register}"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Load { to, variable, ordering } => write!(f, "r{to} := v{variable} ({ordering:?})"),
            Op::Store { variable, value, ordering } => write!(f, "v{variable} := {value} ({ordering:?})"),
            Op::FetchAdd { to, variable, amount, ordering } => {
                write!(f, "r{to} := fetch_add(v{variable}, {amount}) ({ordering:?})")
            }
            Op::Swap { to, variable, value, ordering } => {
                write!(f, "r{to} := swap(v{variable}, {value}) ({ordering:?})")
            }
            Op::CompareExchange { success, variable, expected, new, ordering } => {
                write!(f, "r{success} := compare_exchange(v{variable}, {expected}, {new}) ({ordering:?})")
            }
            Op::Lock { mutex } => write!(f, "lock m{mutex}"),
            Op::TryLock { success, mutex } => write!(f, "r{success} := try_lock m{mutex}"),
            Op::Unlock { mutex } => write!(f, "unlock m{mutex}"),
            Op::Wait { condvar, mutex } => write!(f, "wait c{condvar} m{mutex}"),
            Op::NotifyOne { condvar } => write!(f, "notify_one c{condvar}"),
            Op::NotifyAll { condvar } => write!(f, "notify_all c{condvar}"),
            Op::Send { channel, value } => write!(f, "send q{channel} {value}"),
            Op::TrySend { success, channel, value } => write!(f, "r{success} := try_send q{channel} {value}"),
            Op::Receive { to, channel } => write!(f, "r{to} := receive q{channel}"),
            Op::TryReceive { success, channel } => write!(f, "r{success} := try_receive q{channel}"),
            Op::Spawn { thread } => write!(f, "spawn T{thread}"),
            Op::Join { thread } => write!(f, "join T{thread}"),
            Op::Exit => f.write_str("exit"),
            Op::Yield => f.write_str("yield"),
            Op::Nop => f.write_str("nop"),
            Op::CellRead { to, cell } => write!(f, "r{to} := cell{cell}"),
            Op::CellWrite { cell, value } => write!(f, "cell{cell} := {value}"),
            Op::Set { to, value } => write!(f, "r{to} := {value}"),
            Op::Add { to, value } => write!(f, "r{to} += {value}"),
            Op::SkipIf { register, is, value, count } => {
                let sign = if is == Comparison::Equal { "==" } else { "!=" };
                write!(f, "if r{register} {sign} {value} skip {count}")
            }
            Op::Back { count } => write!(f, "back {count}"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({:?}, notify {:?})", self.name, self.lifecycle, self.notify)?;
        for (thread, code) in self.threads.iter().enumerate() {
            let code: Vec<String> = code.iter().map(Op::to_string).collect();
            writeln!(f, "  T{thread}: {}", code.join("; "))?;
        }
        Ok(())
    }
}
