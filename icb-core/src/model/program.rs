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
use std::hash::Hash;

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

/// What the threads of a state may do next.
struct Prospects {
    enabled: ThreadSet,
    ended: ThreadSet,
    /// What each is about to touch.
    pending: Vec<Operation>,
}

impl<S: Hash> Run<S> {
    fn new(state: S) -> Self {
        Run {
            state,
            schedule: Schedule::default(),
            previous: None,
            yielded: false,
            step_count: 0,
            been: HashSet::new(),
        }
    }

    fn place(&self) -> u64 {
        fingerprint(&(&self.state, self.previous.map_or(0, |t| t.index() + 1), self.yielded))
    }

    /// The scheduling point at which the execution is. Nobody goes on early in a model.
    fn point<'p>(&self, prospects: &'p Prospects, place: u64) -> SchedulingPoint<'p> {
        const NOBODY: &ThreadSet = &ThreadSet::new();
        SchedulingPoint {
            step: self.step_count,
            previous: self.previous,
            yielded: self.yielded,
            enabled: &prospects.enabled,
            early: NOBODY,
            idle: NOBODY,
            pending: &prospects.pending,
            others_unchanged: false,
            awaited: &[],
            ended: &prospects.ended,
            place,
            let_on: LetOn::default(),
        }
    }
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

    /// Who may take the next step of a state, and what the threads are about to touch.
    fn prospects(&self, state: &M::State) -> Prospects {
        let threads = 0..self.model.thread_count(state);
        let ended = threads.clone().filter(|&t| self.model.has_ended(state, t)).collect();
        let nothing = Operation::new(Action::Nop, ObjectId::NONE);
        let pending = threads
            .map(|t| if self.model.has_ended(state, t) { nothing } else { self.model.operation(state, t) });
        let enabled = members(enabled(self.model, state)).collect();
        Prospects { enabled, ended, pending: pending.collect() }
    }

    /// One step. `Some`: the execution ends with it, or before it.
    fn advance(
        &mut self,
        run: &mut Run<M::State>,
        chooser: &mut dyn Chooser,
        observer: &mut Option<&mut dyn Observer>,
        first_branches: &mut Vec<u32>,
    ) -> Option<End> {
        let told = chooser.wants_every_point();
        let prospects = self.prospects(&run.state);
        let place = run.place();
        let point = run.point(&prospects, place);
        if prospects.enabled.is_empty() {
            if told {
                chooser.over(&point, None);
            }
            return Some(self.stuck(run));
        }
        if !told && !run.been.insert(place) {
            return Some(End::GivenUp);
        }
        if run.step_count >= self.max_steps {
            let steps = if self.max_steps == 1 { "step" } else { "steps" };
            let words = format!(
                "one execution took more than {} {steps}: the model may never end, or max_steps is too small for it",
                self.max_steps
            );
            return Some(fail(FailureKind::StepLimit, words, run));
        }
        let only = prospects.enabled.first().filter(|&t| !told && prospects.enabled.is_only(t));
        let Some(thread) = only.map(ThreadId::new).or_else(|| chooser.choose_thread(&point)) else {
            return Some(match chooser.divergence() {
                Some(message) => fail(FailureKind::Divergence, message, run),
                None => End::GivenUp,
            });
        };
        let end = self.take(run, thread, chooser, point.is_preemption(thread), observer, first_branches);
        if told && matches!(end, Some(End::Failed(_))) {
            let after = self.prospects(&run.state);
            let last = SchedulingPoint { yielded: point.yielded, ..run.point(&after, place) };
            chooser.over(&last, Some(thread));
        }
        end
    }

    /// Nobody can go on.
    fn stuck(&self, run: &Run<M::State>) -> End {
        let blocked = blocked(self.model, &run.state);
        if blocked.is_empty() {
            return End::Passed;
        }
        fail(FailureKind::Deadlock, deadlock_words(self.model, &run.state, &blocked), run)
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
        let thread_count = self.model.thread_count(&state);
        if let Some(observer) = &mut observer {
            thread_infos(thread_count).into_iter().for_each(|info| observer.thread(info));
        }
        self.pass(&state);
        let mut run = Run::new(state);
        let wrong = self.model.invariant(&run.state).err();
        let mut end = wrong.map(|words| fail(FailureKind::Invariant, words, &run));
        let end = loop {
            if let Some(end) = end {
                break end;
            }
            end = self.advance(&mut run, chooser, &mut observer, &mut first_branches);
        };
        Outcome {
            end,
            step_count: run.step_count,
            thread_count: thread_count as u32,
            fingerprint: wide_fingerprint(&run.state),
            promoted: false,
        }
    }
}
