//! Abstract programs as programs of the tester: the interpreter under the tester's chooser, without threads, stacks
//! or memory. What the searches do can so be compared with the reference, apart from how real programs are run.
//!
//! The interpreter says what a step does; here stands only how `icb_core` wants to be asked and told.

use super::interpreter::{Granularity, Machine};
use super::language::{Lifecycle, ObjectCounts, Op, Program, failure_ordering};
use super::races::RaceDetector;
use super::state::{Access, Object, Phase, State, Step};
use icb_core::dependence::DependenceHash;
use icb_core::program::{
    BranchPoint, Chooser, End, LetOn, Observer, Outcome, Program as CoreProgram, SchedulingPoint, StepEvent,
    Taken, ThreadSet,
};
use icb_core::trace::{
    self, Action, Failure, FailureKind, Mode, ObjectId, Operation, Schedule, ScheduleEntry, ThreadId,
};
use std::collections::HashSet;

/// An abstract program that the tester can run.
#[derive(Debug)]
pub struct AbstractProgram<'p> {
    program: &'p Program,
    machine: Machine<'p>,
    numbers: Numbers,
    deadlocks: HashSet<u128>,
}

impl<'p> AbstractProgram<'p> {
    /// The program at a granularity.
    #[must_use]
    pub fn new(program: &'p Program, granularity: Granularity) -> Self {
        let numbers = Numbers { counts: program.object_counts(), threads: program.threads.len() };
        AbstractProgram {
            program,
            machine: Machine::new(program, granularity),
            numbers,
            deadlocks: HashSet::new(),
        }
    }

    /// Fingerprints of the terminal states in which threads were blocked for ever.
    #[must_use]
    pub fn deadlocks(&self) -> &HashSet<u128> {
        &self.deadlocks
    }

    fn enabled(&self, state: &State) -> ThreadSet {
        (0..self.numbers.threads).filter(|&thread| self.machine.enabled(state, thread)).collect()
    }

    /// Threads that have no pending operation: they have ended, or do not exist yet.
    fn absent(&self, state: &State) -> ThreadSet {
        let absent = |&thread: &usize| matches!(state.threads[thread].phase, Phase::Unborn | Phase::Ended);
        (0..self.numbers.threads).filter(absent).collect()
    }

    fn fail(&mut self, kind: FailureKind, message: String, run: &Run) -> End {
        if kind == FailureKind::Deadlock {
            self.deadlocks.insert(run.hash.fingerprint());
        }
        let mut failure = Failure::new(kind, message);
        failure.schedule = run.schedule.clone();
        failure.bound = run.schedule.preemption_count();
        End::Failed(Box::new(failure))
    }

    /// The end of an execution in which nobody can go on.
    fn end(&mut self, run: &Run) -> End {
        let blocked: Vec<String> = run.state.unfinished().map(|thread| format!("T{thread}")).collect();
        if blocked.is_empty() {
            return End::Passed;
        }
        self.fail(FailureKind::Deadlock, format!("{} cannot go on", blocked.join(", ")), run)
    }

    /// The operation that a thread would perform next, with the footprint that it has in the tester's eyes.
    fn pending(&self, state: &State, thread: usize) -> Operation {
        let object = |object| self.numbers.of(object);
        let this = &state.threads[thread];
        let Some(&op) = self.program.threads[thread].get(this.counter) else {
            return Operation::new(Action::Nop, ObjectId::NONE);
        };
        let variable = |action, variable| Operation::new(action, object(Object::Variable(variable)));
        let mutex = |action, mutex| Operation::new(action, object(Object::Mutex(mutex)));
        let on_condvar = |action, condvar| Operation::new(action, object(Object::Condvar(condvar)));
        let on_channel = |action, channel| Operation::new(action, object(Object::Channel(channel)));
        match (this.phase, op) {
            (Phase::Unborn | Phase::Beginning, _) => {
                Operation::new(Action::Begin, object(Object::Thread(thread)))
            }
            (phase, Op::Wait { condvar, mutex }) => {
                let begins = phase == Phase::Running;
                let action =
                    if begins { Action::Wait { timed: false } } else { Action::Reacquire { timed: false } };
                Operation::with_other(action, object(Object::Condvar(condvar)), object(Object::Mutex(mutex)))
            }
            (_, Op::Load { variable: of, ordering, .. }) => variable(Action::Load(ordering.into()), of),
            (_, Op::Store { variable: of, ordering, .. }) => variable(Action::Store(ordering.into()), of),
            (_, Op::FetchAdd { variable: of, ordering, .. } | Op::Swap { variable: of, ordering, .. }) => {
                variable(Action::ReadModifyWrite(ordering.into()), of)
            }
            (_, Op::CompareExchange { variable: of, ordering, .. }) => {
                let (success, failure) = (ordering.into(), failure_ordering(ordering).into());
                variable(Action::CompareExchange { weak: false, success, failure }, of)
            }
            (_, Op::Lock { mutex: of }) => mutex(Action::Lock, of),
            (_, Op::TryLock { mutex: of, .. }) => mutex(Action::TryLock, of),
            (_, Op::Unlock { mutex: of }) => mutex(Action::Unlock, of),
            (_, Op::NotifyOne { condvar }) => on_condvar(Action::NotifyOne, condvar),
            (_, Op::NotifyAll { condvar }) => on_condvar(Action::NotifyAll, condvar),
            (_, Op::Send { channel, .. }) => on_channel(Action::Send, channel),
            (_, Op::TrySend { channel, .. }) => on_channel(Action::TrySend, channel),
            (_, Op::Receive { channel, .. }) => on_channel(Action::Receive { timed: false }, channel),
            (_, Op::TryReceive { channel, .. }) => on_channel(Action::TryReceive, channel),
            (_, Op::Spawn { thread }) => Operation::new(Action::Spawn, object(Object::Thread(thread))),
            (_, Op::Join { thread }) => Operation::new(Action::Join, object(Object::Thread(thread))),
            // The tester's threads end with their last step; like an unpark, an end of its own writes the thread.
            (_, Op::Exit) => Operation::new(Action::Unpark, object(Object::Thread(thread))),
            (_, Op::Yield) => Operation::new(Action::Yield, ObjectId::NONE),
            (_, Op::CellRead { cell, .. }) => Operation::new(Action::CellRead, object(Object::Cell(cell))),
            (_, Op::CellWrite { cell, .. }) => Operation::new(Action::CellWrite, object(Object::Cell(cell))),
            (_, Op::Nop | Op::Set { .. } | Op::Add { .. } | Op::SkipIf { .. } | Op::Back { .. }) => {
                Operation::new(Action::Nop, ObjectId::NONE)
            }
        }
    }
}

/// Gives every object of a program a number.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    counts: ObjectCounts,
    threads: usize,
}

impl Numbers {
    fn of(&self, object: Object) -> ObjectId {
        let ObjectCounts { variables, cells, mutexes, condvars, channels: _ } = self.counts;
        let locks = variables + cells + mutexes;
        let threads = locks + condvars;
        ObjectId::new(match object {
            Object::Variable(index) => index,
            Object::Cell(index) => variables + index,
            Object::Mutex(index) => variables + cells + index,
            Object::Condvar(index) => locks + index,
            Object::Thread(index) => threads + index,
            Object::Notification(index) => threads + self.threads + index,
            Object::Channel(index) => threads + 2 * self.threads + index,
        })
    }

    fn count(&self) -> usize {
        let ObjectCounts { variables, cells, mutexes, condvars, channels } = self.counts;
        variables + cells + mutexes + condvars + channels + 2 * self.threads
    }

    fn access(&self, access: Access) -> trace::Access {
        let mode = if access.write { Mode::Write } else { Mode::Read };
        trace::Access { object: self.of(access.object), mode }
    }
}

/// One execution.
struct Run {
    state: State,
    hash: DependenceHash,
    detector: RaceDetector,
    schedule: Schedule,
    previous: Option<ThreadId>,
    step_count: u64,
}

impl Run {
    fn new(program: &AbstractProgram<'_>) -> Self {
        let mut hash = DependenceHash::default();
        // Threads have the same numbers in every execution, so their numbers can be their names.
        (0..program.numbers.threads).for_each(|thread| hash.thread(None, thread as u64));
        (0..program.numbers.count()).for_each(|_| hash.object());
        Run {
            state: program.machine.initial(),
            hash,
            detector: RaceDetector::new(program.numbers.threads, program.numbers.counts),
            schedule: Schedule::default(),
            previous: None,
            step_count: 0,
        }
    }

    fn yielded(&self) -> bool {
        self.previous.is_some_and(|previous| self.state.threads[previous.index()].yielded)
    }

    /// Identifies the place where the thread before stands.
    fn place(&self) -> u64 {
        let place =
            |thread: ThreadId| (thread.index() << 16) + self.state.threads[thread.index()].counter + 1;
        (self.step_count << 48) ^ self.previous.map_or(0, place) as u64
    }
}

impl CoreProgram for AbstractProgram<'_> {
    fn run(&mut self, chooser: &mut dyn Chooser, mut observer: Option<&mut dyn Observer>) -> Outcome {
        let mut run = Run::new(self);
        let told = chooser.wants_every_point();
        let nobody = ThreadSet::new();
        let end = loop {
            let enabled = self.enabled(&run.state);
            let pending: Vec<Operation> =
                (0..self.numbers.threads).map(|t| self.pending(&run.state, t)).collect();
            let absent = self.absent(&run.state);
            let point = SchedulingPoint {
                step: run.step_count,
                previous: run.previous,
                yielded: run.yielded(),
                enabled: &enabled,
                early: &nobody,
                idle: &nobody,
                pending: &pending,
                others_unchanged: false,
                awaited: &[],
                ended: &absent,
                place: run.place(),
                let_on: LetOn::default(),
            };
            if enabled.is_empty() {
                if told {
                    chooser.over(&point, None);
                }
                break self.end(&run);
            }
            let only = if enabled.len() == 1 && !told { enabled.first() } else { None };
            let chosen = only.map(ThreadId::new).or_else(|| chooser.choose_thread(&point));
            let Some(thread) = chosen else {
                break match chooser.divergence() {
                    Some(message) => self.fail(FailureKind::Divergence, message, &run),
                    None => End::GivenUp,
                };
            };
            let preemption = point.is_preemption(thread);
            assert!(enabled.contains(thread.index()), "{thread} was chosen and is not enabled");
            let reference =
                self.machine.preempts(&run.state, run.previous.map(ThreadId::index), thread.index());
            assert_eq!(preemption, reference, "both sides must mean the same by a preemption");
            run.schedule.push(ScheduleEntry::Run { thread, preemption, early: false });

            let operation = pending[thread.index()];
            let count = self.machine.branch_count(&run.state, thread.index());
            let mut branches = Vec::new();
            if count > 1 {
                let count = u32::try_from(count).expect("there are few waiters");
                let index = chooser.choose_branch(&BranchPoint { thread, operation, count, costly: false });
                run.schedule.push(ScheduleEntry::Branch { index, costly: false });
                branches.push(index);
            }
            let branch = branches.first().map_or(0, |&index| index as usize);
            let Step { accesses, effects } = self.machine.step(&mut run.state, thread.index(), branch);
            let accesses: Vec<trace::Access> =
                accesses.into_iter().map(|access| self.numbers.access(access)).collect();
            run.hash.step_many(thread.index(), &accesses, branch as u64);
            if let Some(observer) = &mut observer {
                observer.step(&StepEvent {
                    index: run.step_count,
                    thread,
                    operation,
                    accesses: &accesses,
                    early: false,
                    preemption,
                    read: None,
                    written: None,
                    note: None,
                    location: None,
                    branches: &branches,
                });
            }
            run.step_count += 1;
            run.previous = Some(thread);
            if told {
                let yielded = run.yielded();
                chooser.stepped(&Taken { thread, operation, accesses: &accesses, yielded });
            }
            let race = effects.iter().find_map(|&effect| run.detector.apply(thread.index(), effect));
            if let Some(race) = race {
                let message = format!("T{} and T{} race on cell {}", race.first, race.second, race.cell);
                if told {
                    let absent = self.absent(&run.state);
                    let enabled = self.enabled(&run.state);
                    let point = SchedulingPoint { enabled: &enabled, ended: &absent, ..point };
                    chooser.over(&point, Some(thread));
                }
                break self.fail(FailureKind::DataRace, message, &run);
            }
        };
        let born = |thread: &usize| run.state.threads[*thread].phase != Phase::Unborn;
        let thread_count = match self.program.lifecycle {
            Lifecycle::AllPresent => self.numbers.threads,
            Lifecycle::MainWithExitSteps | Lifecycle::MainLikeStd => {
                (0..self.numbers.threads).filter(born).count()
            }
        };
        Outcome {
            end,
            step_count: run.step_count,
            thread_count: u32::try_from(thread_count).expect("there are few threads"),
            fingerprint: run.hash.fingerprint(),
            promoted: false,
        }
    }
}
