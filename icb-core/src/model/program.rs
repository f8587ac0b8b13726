//! A model as a program: one execution after another under a chooser, so that every strategy can explore it, replay it and
//! report in the same terms.
//!
//! States are not kept between executions. Within one, coming back to a state that the execution has been in, with the
//! same thread before, ends it (given up): what follows has been or will be explored from the first time, at no higher
//! cost. Choosers that are told everything (reductions) reason about whole executions, so for them a cycle is followed until
//! the limit on steps, which is a failure: use them on acyclic models.

use super::fingerprint::{fingerprint, wide_fingerprint};
use super::search::thread_infos;
use super::{Model, blocked, deadlock_words, enabled, members};
use crate::dependence::accesses;
use crate::program::{
    BranchPoint, Chooser, End, LetOn, Observer, Outcome, Program, SchedulingPoint, StepEvent, Taken,
    ThreadSet,
};
use crate::trace::{
    Access, Action, Failure, FailureKind, ObjectId, Operation, Schedule, ScheduleEntry, ThreadId,
};
use std::collections::HashSet;

/// Longest execution, in steps, unless set.
const MAX_STEPS: u64 = 20_000;

/// Runs a model.
#[derive(Debug)]
pub struct ModelProgram<'m, M: Model> {
    model: &'m M,
    max_steps: u64,
    /// Fingerprints of all states that executions have passed, if they are counted.
    passed: Option<HashSet<u64>>,
}

/// One execution.
struct Run<S> {
    state: S,
    schedule: Schedule,
    previous: Option<ThreadId>,
    yielded: bool,
    step_count: u64,
    /// Where the execution has been: fingerprints of state and thread before.
    been: HashSet<u64>,
}

impl<'m, M: Model> ModelProgram<'m, M> {
    /// Runs this model.
    #[must_use]
    pub fn new(model: &'m M) -> Self {
        ModelProgram { model, max_steps: MAX_STEPS, passed: None }
    }

    /// An execution with more steps is a failure.
    #[must_use]
    pub fn max_steps(mut self, count: u64) -> Self {
        self.max_steps = count;
        self
    }

    /// Counts the distinct states that executions pass (by 64-bit fingerprints).
    #[must_use]
    pub fn counting_states(mut self) -> Self {
        self.passed = Some(HashSet::new());
        self
    }

    /// Distinct states passed so far, if they are counted.
    #[must_use]
    pub fn passed_state_count(&self) -> usize {
        self.passed.as_ref().map_or(0, HashSet::len)
    }

    fn pass(&mut self, state: &M::State) {
        if let Some(passed) = &mut self.passed {
            passed.insert(fingerprint(state));
        }
    }

    /// Takes one step, once the thread has been chosen. `Some`: the execution ends with it.
    fn take(
        &mut self,
        run: &mut Run<M::State>,
        thread: ThreadId,
        chooser: &mut dyn Chooser,
        preemption: bool,
        observer: &mut Option<&mut dyn Observer>,
        first_branches: &mut Vec<u32>,
    ) -> Option<End> {
        let index = thread.index();
        let operation = self.model.operation(&run.state, index);
        let count = self.model.outcome_count(&run.state, index);
        run.schedule.push(ScheduleEntry::Run { thread, preemption, early: false });
        let mut branches = std::mem::take(first_branches);
        let mut outcome = 0;
        if count > 1 {
            outcome = chooser.choose_branch(&BranchPoint { thread, operation, count, costly: false });
            branches.push(outcome);
        }
        branches.iter().for_each(|&index| run.schedule.push(ScheduleEntry::Branch { index, costly: false }));
        let touched: Vec<Access> = accesses(operation).collect();
        if let Some(observer) = observer {
            let words = self.model.words(&run.state, index);
            observer.step(&StepEvent {
                index: run.step_count,
                thread,
                operation: Operation::new(Action::Nop, ObjectId::NONE),
                accesses: &touched,
                early: false,
                preemption,
                read: None,
                written: None,
                note: Some(&words),
                location: None,
                branches: &branches,
            });
        }
        run.yielded = self.model.is_yield(&run.state, index);
        let result = self.model.step(&mut run.state, index, outcome);
        run.step_count += 1;
        run.previous = Some(thread);
        if chooser.wants_every_point() {
            let yielded = run.yielded;
            chooser.stepped(&Taken { thread, operation, accesses: &touched, yielded });
        }
        if let Err(words) = result {
            return Some(fail(FailureKind::Panic, words, run));
        }
        self.pass(&run.state);
        self.model.invariant(&run.state).err().map(|words| fail(FailureKind::Invariant, words, run))
    }

    fn initial(&mut self, chooser: &mut dyn Chooser) -> (M::State, Vec<u32>) {
        let mut states = self.model.initial_states();
        assert!(!states.is_empty(), "a model has at least one initial state");
        let count = states.len() as u32;
        let mut branches = Vec::new();
        if count > 1 {
            let operation = Operation::new(Action::Choose, ObjectId::NONE);
            let thread = ThreadId::MAIN;
            branches.push(chooser.choose_branch(&BranchPoint { thread, operation, count, costly: false }));
        }
        let index = branches.first().map_or(0, |&index| index as usize);
        (states.swap_remove(index), branches)
    }

    /// The sets that a scheduling point shows: who has ended, and what the others are about to touch.
    fn prospects(&self, state: &M::State) -> (ThreadSet, Vec<Operation>) {
        let threads = 0..self.model.thread_count(state);
        let ended = threads.clone().filter(|&t| self.model.has_ended(state, t)).collect();
        let nothing = Operation::new(Action::Nop, ObjectId::NONE);
        let pending = threads
            .map(|t| if self.model.has_ended(state, t) { nothing } else { self.model.operation(state, t) });
        (ended, pending.collect())
    }
}

fn fail<S>(kind: FailureKind, words: String, run: &Run<S>) -> End {
    let mut failure = Failure::new(kind, words);
    failure.schedule = run.schedule.clone();
    failure.bound = failure.schedule.preemption_count();
    failure.trace.schedule = failure.schedule.clone();
    if kind != FailureKind::Deadlock {
        failure.thread = run.previous;
    }
    End::Failed(Box::new(failure))
}

impl<M: Model> Program for ModelProgram<'_, M> {
    fn run(&mut self, chooser: &mut dyn Chooser, mut observer: Option<&mut dyn Observer>) -> Outcome {
        let (state, mut first_branches) = self.initial(chooser);
        let told = chooser.wants_every_point();
        let nobody = ThreadSet::new();
        let mut run = Run {
            state,
            schedule: Schedule::default(),
            previous: None,
            yielded: false,
            step_count: 0,
            been: HashSet::new(),
        };
        let thread_count = self.model.thread_count(&run.state);
        if let Some(observer) = &mut observer {
            thread_infos(thread_count).into_iter().for_each(|info| observer.thread(info));
        }
        self.pass(&run.state);
        let wrong = self.model.invariant(&run.state).err();
        let mut end = wrong.map(|words| fail(FailureKind::Invariant, words, &run));
        while end.is_none() {
            let set = enabled(self.model, &run.state);
            let enabled: ThreadSet = members(set).collect();
            let (ended, pending) = self.prospects(&run.state);
            let place = fingerprint(&(&run.state, run.previous.map_or(0, |t| t.index() + 1), run.yielded));
            let point = SchedulingPoint {
                step: run.step_count,
                previous: run.previous,
                yielded: run.yielded,
                enabled: &enabled,
                early: &nobody,
                idle: &nobody,
                pending: &pending,
                others_unchanged: false,
                awaited: &[],
                ended: &ended,
                place,
                let_on: LetOn::default(),
            };
            if set == 0 {
                if told {
                    chooser.over(&point, None);
                }
                let blocked = blocked(self.model, &run.state);
                end = Some(if blocked.is_empty() {
                    End::Passed
                } else {
                    fail(FailureKind::Deadlock, deadlock_words(self.model, &run.state, &blocked), &run)
                });
                break;
            }
            if !told && !run.been.insert(place) {
                end = Some(End::GivenUp);
                break;
            }
            if run.step_count >= self.max_steps {
                let words = format!("one execution took more than {} steps", self.max_steps);
                end = Some(fail(FailureKind::StepLimit, words, &run));
                break;
            }
            let only = if set.is_power_of_two() && !told { enabled.first() } else { None };
            let Some(thread) = only.map(ThreadId::new).or_else(|| chooser.choose_thread(&point)) else {
                end = Some(match chooser.divergence() {
                    Some(message) => fail(FailureKind::Divergence, message, &run),
                    None => End::GivenUp,
                });
                break;
            };
            let preemption = point.is_preemption(thread);
            end = self.take(&mut run, thread, chooser, preemption, &mut observer, &mut first_branches);
            if told && matches!(end, Some(End::Failed(_))) {
                let (ended, pending) = self.prospects(&run.state);
                let enabled: ThreadSet = members(super::enabled(self.model, &run.state)).collect();
                let last = SchedulingPoint {
                    step: run.step_count,
                    previous: run.previous,
                    enabled: &enabled,
                    ended: &ended,
                    pending: &pending,
                    ..point
                };
                chooser.over(&last, Some(thread));
            }
        }
        Outcome {
            end: end.unwrap_or(End::GivenUp),
            step_count: run.step_count,
            thread_count: thread_count as u32,
            fingerprint: wide_fingerprint(&run.state),
            promoted: false,
        }
    }
}
