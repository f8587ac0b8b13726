//! What a step is: explicit, cloneable states under sequential consistency.
//!
//! One step is one visible operation and the code after it up to the thread's next scheduling point. A step
//! reports what it touched twice: as accesses (for the [dependence order](super::dependence)) and as memory
//! effects (for [happens-before and races](super::races)). Which step comes next is not decided here.

use super::effects::{access_cell, access_channel, access_variable, acquire, release, run_local, wake};
use super::language::{Lifecycle, NotifyOrder, Op, OpClass, Program, REGISTER_COUNT};
use super::state::{MemoryEffect, Object, Phase, State, Step, Thread};
use std::collections::VecDeque;

/// Which accesses are scheduling points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Granularity {
    /// Only synchronization; data accesses belong to the step before them.
    SyncOnly,
    /// Data accesses too.
    EveryAccess,
}

/// A program at a granularity: the pure functions from state to state.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'p> {
    program: &'p Program,
    granularity: Granularity,
}

impl<'p> Machine<'p> {
    /// The machine that runs `program`.
    #[must_use]
    pub fn new(program: &'p Program, granularity: Granularity) -> Self {
        Machine { program, granularity }
    }

    /// Number of threads.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.program.threads.len()
    }

    /// The state before the first step.
    ///
    /// # Panics
    /// If a thread accesses data before it has taken a step that the access could belong to, or if there are cells beside
    /// channels: what a message orders is not part of the model.
    #[must_use]
    pub fn initial(&self) -> State {
        let counts = self.program.object_counts();
        assert!(counts.channels == 0 || counts.cells == 0, "{}: cells and channels", self.program.name);
        let thread =
            Thread { phase: Phase::Running, counter: 0, registers: [0; REGISTER_COUNT], yielded: false };
        let mut state = State {
            threads: vec![thread; self.thread_count()],
            variables: vec![0; counts.variables],
            cells: vec![0; counts.cells],
            owners: vec![None; counts.mutexes],
            waiters: vec![Vec::new(); counts.condvars],
            channels: vec![VecDeque::new(); counts.channels],
        };
        for thread in 0..self.thread_count() {
            if self.program.lifecycle == Lifecycle::MainLikeStd {
                state.threads[thread].phase = if thread == 0 { Phase::Beginning } else { Phase::Unborn };
                continue;
            }
            let mut nothing = Step::default();
            self.run_to_scheduling_point(&mut state, thread, &mut nothing);
            assert_eq!(nothing, Step::default(), "{}: data access before the first step", self.program.name);
            if self.program.lifecycle == Lifecycle::MainWithExitSteps && thread != 0 {
                state.threads[thread].phase = Phase::Unborn;
            }
        }
        state
    }

    /// Whether the thread's next operation can take effect.
    #[must_use]
    pub fn enabled(&self, state: &State, thread: usize) -> bool {
        match state.threads[thread].phase {
            Phase::Unborn | Phase::Waiting | Phase::Ended => false,
            Phase::Beginning => true,
            Phase::Running | Phase::Notified => match self.next_op(state, thread) {
                Op::Lock { mutex } => state.owners[mutex].is_none(),
                Op::Wait { mutex, .. } if state.threads[thread].phase == Phase::Notified => {
                    state.owners[mutex].is_none()
                }
                Op::Join { thread } => state.threads[thread].phase == Phase::Ended,
                Op::Send { channel, .. } => state.has_room(channel),
                Op::Receive { channel, .. } => !state.channels[channel].is_empty(),
                _ => true,
            },
        }
    }

    /// In how many ways an enabled thread can take its next step; each is free.
    #[must_use]
    pub fn branch_count(&self, state: &State, thread: usize) -> usize {
        match state.threads[thread].phase {
            Phase::Running if self.program.notify == NotifyOrder::Any => match self.next_op(state, thread) {
                Op::NotifyOne { condvar } => state.waiters[condvar].len().max(1),
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Whether running `next` is a preemption of `last`, the thread that took the step before (if any):
    /// `last` could go on, and has not just yielded.
    #[must_use]
    pub fn preempts(&self, state: &State, last: Option<usize>, next: usize) -> bool {
        last.is_some_and(|last| last != next && self.enabled(state, last) && !state.threads[last].yielded)
    }

    /// Lets an enabled thread take one step, by the given one of its branches.
    ///
    /// # Panics
    /// If the thread is not enabled or the program breaks a rule of the language.
    pub fn step(&self, state: &mut State, thread: usize, branch: usize) -> Step {
        assert!(self.enabled(state, thread), "{}: T{thread} is not enabled", self.program.name);
        let mut step = Step::default();
        state.threads[thread].yielded = false;
        if state.threads[thread].phase == Phase::Beginning {
            step.read(Object::Thread(thread));
            state.threads[thread].phase = Phase::Running;
        } else {
            self.perform(state, thread, branch, &mut step);
        }
        if state.threads[thread].phase == Phase::Running {
            self.run_to_scheduling_point(state, thread, &mut step);
        }
        if state.threads[thread].phase == Phase::Ended && self.program.lifecycle == Lifecycle::MainLikeStd {
            step.write(Object::Thread(thread));
        }
        step
    }

    fn next_op(&self, state: &State, thread: usize) -> Op {
        self.program.threads[thread][state.threads[thread].counter]
    }

    /// Runs local code, and data accesses where they are no scheduling points, until the next visible operation.
    fn run_to_scheduling_point(&self, state: &mut State, thread: usize, step: &mut Step) {
        const MAX_LOCAL_OPS: usize = 10_000;
        for _ in 0..MAX_LOCAL_OPS {
            if state.threads[thread].counter == self.program.threads[thread].len() {
                state.threads[thread].phase = Phase::Ended;
                return;
            }
            let op = self.next_op(state, thread);
            match (op.class(), self.granularity) {
                (OpClass::Local, _) => run_local(state, thread, op),
                (OpClass::Data, Granularity::SyncOnly) => {
                    access_cell(state, thread, op, step);
                    state.threads[thread].counter += 1;
                }
                _ => return,
            }
        }
        panic!("{}: T{thread} loops without a visible operation", self.program.name);
    }

    /// The effect of the visible operation at which the thread stands; moves past it when it is complete.
    fn perform(&self, state: &mut State, thread: usize, branch: usize, step: &mut Step) {
        let op = self.next_op(state, thread);
        let mut complete = true;
        match op {
            Op::Load { .. }
            | Op::Store { .. }
            | Op::FetchAdd { .. }
            | Op::Swap { .. }
            | Op::CompareExchange { .. } => access_variable(state, thread, op, step),
            Op::CellRead { cell, .. } => {
                step.read(Object::Cell(cell));
                access_cell(state, thread, op, step);
            }
            Op::CellWrite { cell, .. } => {
                step.write(Object::Cell(cell));
                access_cell(state, thread, op, step);
            }
            Op::Lock { mutex } => acquire(state, thread, mutex, step),
            Op::TryLock { success, mutex } => {
                let free = state.owners[mutex].is_none();
                if free {
                    acquire(state, thread, mutex, step);
                } else {
                    step.read(Object::Mutex(mutex));
                }
                state.set(thread, success, usize::from(free));
            }
            Op::Unlock { mutex } => release(state, thread, mutex, step),
            Op::Wait { condvar, mutex } if state.threads[thread].phase == Phase::Running => {
                release(state, thread, mutex, step);
                step.write(Object::Condvar(condvar));
                state.waiters[condvar].push(thread);
                state.threads[thread].phase = Phase::Waiting;
                complete = false;
            }
            Op::Wait { mutex, .. } => {
                acquire(state, thread, mutex, step);
                step.read(Object::Notification(thread));
                state.threads[thread].phase = Phase::Running;
            }
            Op::NotifyOne { condvar } => {
                step.write(Object::Condvar(condvar));
                if !state.waiters[condvar].is_empty() {
                    let woken = state.waiters[condvar].remove(branch);
                    wake(state, woken, step);
                }
            }
            Op::NotifyAll { condvar } => {
                step.write(Object::Condvar(condvar));
                for woken in std::mem::take(&mut state.waiters[condvar]) {
                    wake(state, woken, step);
                }
            }
            Op::Send { .. } | Op::TrySend { .. } | Op::Receive { .. } | Op::TryReceive { .. } => {
                access_channel(state, thread, op, step);
            }
            Op::Spawn { thread: child } => {
                step.write(Object::Thread(child));
                step.effects.push(MemoryEffect::Spawn(child));
                self.give_birth(state, child);
            }
            Op::Join { thread: child } => {
                step.read(Object::Thread(child));
                step.effects.push(MemoryEffect::Join(child));
            }
            Op::Exit => step.write(Object::Thread(thread)),
            Op::Yield => state.threads[thread].yielded = true,
            Op::Nop => {}
            Op::Set { .. } | Op::Add { .. } | Op::SkipIf { .. } | Op::Back { .. } => {
                unreachable!("local code runs with the step before it")
            }
        }
        if complete {
            state.threads[thread].counter += 1;
        }
    }

    fn give_birth(&self, state: &mut State, child: usize) {
        assert_eq!(
            state.threads[child].phase,
            Phase::Unborn,
            "{}: T{child} spawned twice",
            self.program.name
        );
        state.threads[child].phase = match self.program.lifecycle {
            Lifecycle::MainLikeStd => Phase::Beginning,
            _ if state.threads[child].counter == self.program.threads[child].len() => Phase::Ended,
            _ => Phase::Running,
        };
    }
}
