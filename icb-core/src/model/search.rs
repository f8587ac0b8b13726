//! Iterative context bounding with states (Musuvathi and Qadeer, PLDI 2007, Algorithm 1 with the table of §3, as in
//! ZING).
//!
//! A work item is a state and the thread to run from it. What follows from an item does not depend on how it was reached,
//! so one that has been entered is never entered again, at this bound or a later one: bounds go up, and the first time is
//! the cheapest. That ends the search in cyclic state spaces too.
//!
//! Deviations from the paper: the depth-first search has a stack of its own, not the program's; a step may have several
//! outcomes; leaving a thread that has just yielded is free. States can be stood for by their 64-bit fingerprints: then only
//! states that wait in a queue are kept, and a state whose fingerprint equals another one's is missed. With n states that
//! happens with a probability of at most n²/2⁶⁵ (a birthday bound).

use super::report::{Memory, StateReport};
use super::table::Table;
use super::{Model, blocked, deadlock_words, enabled, members};
use crate::dependence::accesses;
use crate::trace::{
    Action, BoundReport, Failure, FailureKind, ObjectId, Operation, ScheduleEntry, Step, Stopped, Switch,
    ThreadId, ThreadInfo, Trace,
};
use std::collections::VecDeque;
use std::time::Instant;

/// What is kept of a state that has been seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Storage {
    /// The state: nothing is missed.
    #[default]
    States,
    /// 64 bits: see [`StateReport::omission_probability`].
    Fingerprints,
}

/// No work item led here: an initial state.
const NOWHERE: u32 = u32::MAX;

/// How a state was reached: the work item that led there (its number in `origins`) and the outcome of its step.
#[derive(Clone, Copy, Debug)]
struct Origin {
    from: u32,
    /// The outcome, and above [`OUTCOME_BITS`] the thread that is run from the state: there are as many of these as of states.
    packed: u32,
}

/// 64 threads leave so many bits for outcomes.
const OUTCOME_BITS: u32 = 26;
/// There are no more outcomes of a step, or initial states, than this.
const MAX_OUTCOMES: u32 = 1 << OUTCOME_BITS;

impl Origin {
    const fn new(from: u32, outcome: u32) -> Origin {
        Origin { from, packed: outcome }
    }

    fn running(self, thread: usize) -> Origin {
        Origin { packed: self.outcome() | (thread as u32) << OUTCOME_BITS, ..self }
    }

    const fn outcome(self) -> u32 {
        self.packed & (MAX_OUTCOMES - 1)
    }

    const fn thread(self) -> usize {
        (self.packed >> OUTCOME_BITS) as usize
    }
}

/// A work item that waits: a state and the thread to run from it.
#[derive(Clone, Debug)]
struct Item<S> {
    number: u32,
    /// The state itself, unless the table keeps it.
    state: Option<S>,
    origin: Origin,
}

/// A search of all states of a model, fewest preemptions first.
#[derive(Debug)]
pub struct StateSearch<'m, M: Model> {
    model: &'m M,
    max_bound: Option<u32>,
    max_states: usize,
    storage: Storage,
    table: Table<M::State>,
    origins: Vec<Origin>,
    stack: Vec<Item<M::State>>,
    queue: VecDeque<Item<M::State>>,
    next_queue: VecDeque<Item<M::State>>,
    waiting_bytes: usize,
    report: StateReport,
}

impl<'m, M: Model> StateSearch<'m, M> {
    /// A search without a bound that keeps states.
    #[must_use]
    pub fn new(model: &'m M) -> Self {
        StateSearch {
            model,
            max_bound: None,
            max_states: usize::MAX,
            storage: Storage::States,
            table: Table::new(true),
            origins: Vec::new(),
            stack: Vec::new(),
            queue: VecDeque::new(),
            next_queue: VecDeque::new(),
            waiting_bytes: 0,
            report: StateReport::default(),
        }
    }

    /// The last bound to search.
    #[must_use]
    pub fn max_bound(mut self, bound: u32) -> Self {
        self.max_bound = Some(bound);
        self
    }

    /// Stops when so many states have been seen; the report is then incomplete.
    #[must_use]
    pub fn max_states(mut self, count: usize) -> Self {
        self.max_states = count;
        self
    }

    /// What is kept of states.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// Searches.
    #[must_use]
    pub fn run(mut self) -> StateReport {
        self.table = Table::new(self.storage == Storage::States);
        let mut bound = BoundReport::new(0);
        let began = Instant::now();
        self.begin();
        loop {
            let started = if bound.bound == 0 { began } else { Instant::now() };
            self.run_bound(&mut bound);
            bound.seconds = started.elapsed().as_secs_f64();
            bound.states = self.table.len() as u64;
            bound.complete = self.report.stopped.is_none();
            bound.exhausted = bound.complete && self.next_queue.is_empty();
            bound.next_items = self.next_queue.len() as u64;
            let number = bound.bound;
            self.report.bounds.push(std::mem::take(&mut bound));
            let last = self.max_bound.is_some_and(|max| number >= max);
            if self.report.stopped.is_some() || last || self.next_queue.is_empty() {
                break;
            }
            self.queue = std::mem::take(&mut self.next_queue);
            bound = BoundReport::new(number + 1);
        }
        self.finish()
    }

    fn finish(mut self) -> StateReport {
        let (states, table) = self.table.bytes();
        let count = self.table.len();
        self.report.memory = Memory {
            states,
            table,
            origins: self.origins.capacity() * size_of::<Origin>(),
            queues: self.report.memory.queues,
            state_count: count,
        };
        if self.storage == Storage::Fingerprints {
            self.report.omission_probability = (count as f64 * count as f64 / 2f64.powi(65)).min(1.0);
        }
        self.report.complete = self.report.stopped.is_none();
        self.report
    }

    fn begin(&mut self) {
        let initial = self.model.initial_states();
        assert!(!initial.is_empty(), "a model has at least one initial state");
        assert!(initial.len() <= MAX_OUTCOMES as usize, "a model has at most {MAX_OUTCOMES} initial states");
        for (outcome, state) in (0..).zip(initial) {
            let from = Origin::new(NOWHERE, outcome);
            if self.arrive(&state, from) {
                for thread in members(enabled(self.model, &state)) {
                    let item = self.item(&state, thread, from);
                    self.queue.push_back(item);
                }
            }
        }
    }

    fn run_bound(&mut self, bound: &mut BoundReport) {
        while self.report.stopped.is_none() {
            let Some(item) = self.queue.pop_front() else { return };
            let name = self.name_in(&item);
            if !self.table.enter(item.number, name) {
                // It has been reached at no cost meanwhile.
                self.release(&item);
                continue;
            }
            bound.executions += 1;
            self.stack.push(item);
            while self.report.stopped.is_none() {
                let Some(item) = self.stack.pop() else { break };
                self.take(item, bound);
            }
        }
    }

    /// Takes the step of a work item, which has been entered.
    fn take(&mut self, item: Item<M::State>, bound: &mut BoundReport) {
        self.release(&item);
        let thread = item.origin.thread();
        let state = item.state.unwrap_or_else(|| self.table.state(item.number).clone());
        let from = self.origins.len() as u32;
        self.origins.push(item.origin);
        let yields = self.model.is_yield(&state, thread);
        let outcomes = self.model.outcome_count(&state, thread);
        assert!(
            outcomes <= MAX_OUTCOMES,
            "a step of a model has at most {MAX_OUTCOMES} outcomes, not {outcomes}"
        );
        for outcome in 0..outcomes {
            let mut after = state.clone();
            let origin = Origin::new(from, outcome);
            bound.steps += 1;
            if let Err(words) = self.model.step(&mut after, thread, outcome) {
                return self.fail(FailureKind::Panic, words, origin, None);
            }
            if !self.arrive(&after, origin) {
                return;
            }
            self.go_on(&after, (!yields).then_some(thread), origin);
            if self.report.stopped.is_some() {
                return;
            }
        }
        let waiting = (self.stack.capacity() + self.queue.capacity() + self.next_queue.capacity())
            * size_of::<Item<M::State>>()
            + self.waiting_bytes;
        self.report.memory.queues = self.report.memory.queues.max(waiting);
    }

    /// Enters a state that was reached: counts it and checks it. `false`: the search is over.
    fn arrive(&mut self, state: &M::State, origin: Origin) -> bool {
        let (_, new) = self.number(state);
        if !new {
            return true;
        }
        if let Err(words) = self.model.invariant(state) {
            self.fail(FailureKind::Invariant, words, origin, None);
            return false;
        }
        if enabled(self.model, state) == 0 {
            self.report.terminal_states += 1;
            let blocked = blocked(self.model, state);
            if !blocked.is_empty() {
                let words = deadlock_words(self.model, state, &blocked);
                self.fail(FailureKind::Deadlock, words, origin, Some(state));
                return false;
            }
        }
        if self.table.len() >= self.max_states {
            self.report.stopped = Some(Stopped::States);
            return false;
        }
        true
    }

    /// Makes the work items of a state: those that cost nothing for this bound, the others for the next one. `previous` is
    /// the thread that was run last, unless it has yielded.
    fn go_on(&mut self, state: &M::State, previous: Option<usize>, origin: Origin) {
        let enabled = enabled(self.model, state);
        let stays = previous.filter(|&thread| enabled & (1 << thread) != 0);
        for thread in members(enabled) {
            let free = stays.is_none_or(|stays| stays == thread);
            let name = self.name(state, thread);
            let (number, _) = self.number(state);
            let new = if free { self.table.enter(number, name) } else { self.table.wait(number, name) };
            if !new {
                continue;
            }
            let item = self.item(state, thread, origin);
            if free {
                self.stack.push(item);
            } else {
                self.next_queue.push_back(item);
            }
        }
    }

    /// The item no longer waits.
    fn release(&mut self, item: &Item<M::State>) {
        if let Some(state) = &item.state {
            self.waiting_bytes -= self.model.heap_bytes(state);
        }
    }

    /// The name that the item's thread has in the representative of its state.
    fn name_in(&self, item: &Item<M::State>) -> usize {
        let state = item.state.as_ref().unwrap_or_else(|| self.table.state(item.number));
        self.name(state, item.origin.thread())
    }

    /// The number of the state's representative.
    fn number(&mut self, state: &M::State) -> (u32, bool) {
        let representative =
            self.model.canonical(state, 0).map_or_else(|| state.clone(), |(canonical, _)| canonical);
        self.table.number(representative, |state| self.model.heap_bytes(state))
    }

    /// The thread's name in the representative.
    fn name(&self, state: &M::State, thread: usize) -> usize {
        self.model.canonical(state, thread).map_or(thread, |(_, name)| name)
    }

    fn item(&mut self, state: &M::State, thread: usize, origin: Origin) -> Item<M::State> {
        let (number, _) = self.number(state);
        let kept = self.storage == Storage::States && self.table.state(number) == state;
        if !kept {
            self.waiting_bytes += self.model.heap_bytes(state);
        }
        Item { number, state: (!kept).then(|| state.clone()), origin: origin.running(thread) }
    }

    /// Ends the search with a failure, reached in the way that the origin says.
    fn fail(&mut self, kind: FailureKind, words: String, origin: Origin, deadlocked: Option<&M::State>) {
        let mut choices = Vec::new();
        let (mut from, mut outcome) = (origin.from, origin.outcome());
        while let Some(&origin) = self.origins.get(from as usize) {
            choices.push((origin.thread(), outcome));
            (from, outcome) = (origin.from, origin.outcome());
        }
        choices.reverse();
        let mut failure = Failure::new(kind, words);
        failure.trace = trace(self.model, outcome as usize, &choices);
        failure.schedule = failure.trace.schedule.clone();
        failure.bound = failure.schedule.preemption_count();
        if deadlocked.is_none() {
            failure.thread = choices.last().map(|&(thread, _)| ThreadId::new(thread));
        }
        self.report.failure = Some(failure);
        self.report.stopped = Some(Stopped::Failure);
    }
}

/// The trace of an execution from an initial state: threads and outcomes in order.
fn trace<M: Model>(model: &M, initial: usize, choices: &[(usize, u32)]) -> Trace {
    let initial_states = model.initial_states();
    let initial_count = initial_states.len();
    let mut trace = Trace::default();
    let Some(mut state) = initial_states.into_iter().nth(initial) else { return trace };
    let mut previous: Option<usize> = None;
    let mut yielded = false;
    for (index, &(thread, outcome)) in choices.iter().enumerate() {
        let switch = match previous {
            None => Switch::Stay,
            Some(before) if before == thread => Switch::Stay,
            Some(before) if !yielded && model.is_enabled(&state, before) => Switch::Preemption,
            Some(_) => Switch::Free,
        };
        let id = ThreadId::new(thread);
        let preemption = switch == Switch::Preemption;
        trace.schedule.push(ScheduleEntry::Run { thread: id, preemption, early: false });
        let mut branches = Vec::new();
        if index == 0 && initial_count > 1 {
            branches.push(initial as u32);
        }
        if model.outcome_count(&state, thread) > 1 {
            branches.push(outcome);
        }
        for &index in &branches {
            trace.schedule.push(ScheduleEntry::Branch { index, costly: false });
        }
        trace.steps.push(Step {
            index,
            thread: id,
            switch,
            operation: Operation::new(Action::Nop, ObjectId::NONE),
            early: false,
            branches,
            read: None,
            written: None,
            note: Some(model.words(&state, thread)),
            location: None,
            preempted: None,
            accesses: accesses(model.operation(&state, thread)).collect(),
            backtrace: Vec::new(),
            printed_from: None,
            preempted_thread: preemption.then(|| previous.map(ThreadId::new)).flatten(),
        });
        yielded = model.is_yield(&state, thread);
        previous = Some(thread);
        if model.step(&mut state, thread, outcome).is_err() {
            break;
        }
    }
    let count = model.thread_count(&state);
    trace.threads = thread_infos(count);
    trace
}

/// Threads of a model have numbers and no other names.
pub(super) fn thread_infos(count: usize) -> Vec<ThreadInfo> {
    let info =
        |t| ThreadInfo { id: ThreadId::new(t), path: format!("thread {t}"), name: None, spawned_at: None };
    (0..count).map(info).collect()
}
