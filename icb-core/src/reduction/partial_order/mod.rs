//! Dynamic partial-order reduction under a bound on preemptions, and without one.
//!
//! Each class of executions that differ only in the order of operations that commute is to be run about once, and
//! none is to be lost, at each bound. Memory is proportional to the length of one execution; no states are stored.
//!
//! Based on dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005) with the conservative points of
//! bounded partial-order reduction (Coons, Musuvathi, McKinley, OOPSLA 2013). MSR-TR-2007-12 shows why sleep sets and
//! persistent sets lose executions under a bound; these deviations mend it:
//! 1. The pending operation of *every* thread, blocked ones included, is analysed for races at every node where it is
//!    new or conflicts with the newest event, and when the execution is over.
//! 2. Under a bound an event that enables an operation (unlock before lock) is a reason to try the other thread first:
//!    running it up to where it blocks makes the switch away from it free. That spares a preemption only if somebody is
//!    let in before the thread's block is over, so it is taken up when a race asks for that, and not before.
//! 3. All threads that could lead to the reversal are added, not one; if one of them sleeps, all enabled ones. If there is none, nobody is, but where
//!    the thread may go on although nothing is done that lets it.
//! 4. Under a bound the start of the event's context block is a point to try too, unless the thread has come to where it is because of that
//!    block; a yield ends a block.
//! 5. Under a bound a thread sleeps only where moving its step, or its whole block, to the front is free. What wakes it is a conflict
//!    with anything that these touch, with whatever outcomes.
//! 6. A thread's begin, and its join of a thread that has ended, are *free*: nothing that comes later conflicts with
//!    them. Under a bound such a step and the thread's next one are one transition: nothing is tried in between that could
//!    not be tried before, they sleep together, and what blocks after free steps alone has spared nobody a preemption.
//!    Without a bound they are taken at once, so that it is known what the thread does next.
//! 7. What a step touches besides what it was known to want (whom a notification wakes) is analysed when it is taken, and so is what
//!    its thread does without a decision of its own.
//!
//! Where the bound is spent and the thread that ran before can go on, nobody else can be afforded: that such a node needs
//! somebody more is noted once, as something that the bound has cut off, and is not looked for again.
//!
//! Steps that go on early (a wait that expires or wakes spuriously, at a cost) are tried at every node that can afford
//! them, and before the others where nobody is preempted by that, so that they sleep for these. They are possible only while somebody else can go
//! on: where nobody can any more, what each thread has done last is a reason to let those who wait come there before; an early step wakes who
//! sleeps, unless somebody stays who could go on after either; and what sleeps early is awake again where nobody can go on, since who is let on there
//! would not be if it had gone on before. Where such a sleeper wakes, everybody is tried before that event and before its block: what the sleeper does there was
//! run elsewhere, and only its races there say who else is to come before. Outcomes inside a step (`notify_one`, `choose`, weak failures) are all tried.

mod additions;
mod analysis;
mod backtrack;
mod chooser;
mod coast;
mod encoding;
mod events;
mod footprint;
mod grow;
mod halfway;
mod item;
mod node;
mod pending;
mod script;
mod split;
mod touches;

use crate::clock::VectorClock;
use crate::program::{Chooser, FoundChannel, Outcome, Strategy, ThreadSet, divergence_message};
use additions::Deferred;
use coast::Coast;
use events::Events;
pub use item::{Item, Remains};
use node::Node;
use pending::Pending;
use script::Script;

/// Which alternatives go to sleep under a bound. Both lose nothing; the second runs fewer executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SleepRule {
    /// A thread that was simply continued, or that could not go on right after its step.
    Step,
    /// Any thread, with what its uninterrupted run touches.
    #[default]
    Block,
}

/// Ways to be wrong, for tests that show that they would notice.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flaw {
    /// None: the search as it is.
    #[default]
    None,
    /// The start of an event's context block is not tried.
    NoConservativePoints,
    /// Every alternative goes to sleep with its step.
    NaiveSleep,
    /// The pending operations of blocked threads are not analysed.
    BlockedIgnored,
    /// Events that enable an operation are no reason to try it before them.
    EnablingIgnored,
    /// Only one thread that could lead to a reversal is added.
    OneCandidate,
    /// Where a thread that could lead to a reversal sleeps, the others are not tried in its place.
    NoFallback,
    /// What a thread does while it unwinds is not analysed.
    PartsIgnored,
    /// That a notification touches the thread that it wakes is not analysed.
    WokenIgnored,
    /// What a step with several outcomes leads to is what its first outcome leads to.
    FirstOutcomeTrusted,
    /// Who is left waiting, and could have gone on early before others came to their ends, is not analysed.
    LastIgnored,
    /// Who sleeps with its going on early sleeps on where nobody can go on.
    EarlySleepsOn,
    /// Sleeping blocks name objects that are new as if their numbers were the same in every execution.
    NumbersTrusted,
}

/// Bounds searched one by one before a search without a last bound drops the bound altogether.
pub(crate) const BOUNDS_BEFORE_UNBOUNDED: u32 = 3;

/// The search.
#[derive(Debug)]
pub struct PartialOrder {
    /// `None`: every execution.
    max_bound: Option<u32>,
    rule: SleepRule,
    flaw: Flaw,
    /// Label of the current bound.
    bound: u32,
    /// What an execution may cost now; `None`: anything.
    budget: Option<u32>,
    nodes: Vec<Node>,
    /// Nodes of the current execution.
    depth: usize,
    /// Nodes that the running execution has passed.
    cursor: usize,
    /// Events that the next execution only repeats.
    kept: usize,
    /// Events of the last execution up to here, from `kept` on, may have touched what the nodes are still to learn of; 0: they know it.
    unnoted: usize,
    /// The item is gone on with by somebody else: events are to be made again.
    without_events: bool,
    /// Branches of the current node that have been asked for.
    branch_cursor: usize,
    script: Script,
    events: Events,
    /// What the step that is being taken has found at its channel.
    found: Option<FoundChannel>,
    started: bool,
    /// Choices that the bound did not allow.
    bound_pruned: u64,
    divergence: Option<String>,
    /// By depth.
    deferred: Vec<Deferred>,
    /// The part of the search that is being done.
    item: Item,
    /// At the newest node.
    pending: Pending,
    coast: Coast,
    /// Executions may coast.
    coasts: bool,
    // Buffers.
    clock: VectorClock,
    known: VectorClock,
    candidates: ThreadSet,
    settled: ThreadSet,
    /// Events that race with an operation.
    races: Vec<u32>,
    /// Whether `clock` is that of the operation being analysed.
    clock_is_known: bool,
}

impl PartialOrder {
    /// A search of the bounds 0 to `max_bound`. `None`: of the first few bounds one by one, then of everything.
    #[must_use]
    pub fn new(max_bound: Option<u32>) -> Self {
        PartialOrder {
            max_bound,
            rule: SleepRule::default(),
            flaw: Flaw::None,
            bound: 0,
            budget: Some(0),
            nodes: Vec::new(),
            depth: 0,
            cursor: 0,
            kept: 0,
            unnoted: 0,
            without_events: false,
            branch_cursor: 0,
            script: Script::default(),
            events: Events::default(),
            found: None,
            started: false,
            bound_pruned: 0,
            divergence: None,
            deferred: Vec::new(),
            item: Item::root(),
            pending: Pending::default(),
            coast: Coast::default(),
            coasts: true,
            clock: VectorClock::new(),
            known: VectorClock::new(),
            candidates: ThreadSet::new(),
            settled: ThreadSet::new(),
            races: Vec::new(),
            clock_is_known: false,
        }
    }

    /// Chooses the sleep rule.
    #[must_use]
    pub fn sleep_rule(mut self, rule: SleepRule) -> Self {
        self.rule = rule;
        self
    }

    /// Makes the search unsound, for tests of tests.
    #[doc(hidden)]
    #[must_use]
    pub fn flawed(mut self, flaw: Flaw) -> Self {
        self.flaw = flaw;
        self
    }

    /// Analyses every step, for tests that compare.
    #[doc(hidden)]
    #[must_use]
    pub fn without_coasting(mut self) -> Self {
        self.coasts = false;
        self
    }

    /// Steps that have not been analysed because nothing could come of it, and how often more came up after all.
    #[doc(hidden)]
    #[must_use]
    pub fn coasted(&self) -> (u64, u64) {
        self.coast.counts()
    }

    /// Begins with this bound instead of 0.
    #[must_use]
    pub fn from_bound(mut self, bound: u32) -> Self {
        self.set_bound(bound);
        self
    }

    /// Searches without a bound from the start.
    #[must_use]
    pub fn unbounded_at_once(mut self) -> Self {
        self.max_bound = None;
        self.set_bound(BOUNDS_BEFORE_UNBOUNDED);
        self
    }

    fn set_bound(&mut self, bound: u32) {
        self.bound = bound;
        self.budget = (self.max_bound.is_some() || bound < BOUNDS_BEFORE_UNBOUNDED).then_some(bound);
        self.item = Item::root();
        self.depth = 0;
        self.unnoted = 0;
        self.without_events = false;
        self.started = false;
        self.bound_pruned = 0;
    }

    /// Whether there is a bound now.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.budget.is_some()
    }

    fn affordable(&self, cost: u32) -> bool {
        self.budget.is_none_or(|budget| cost <= budget)
    }

    /// Whether the thread can be run at the node. Says so to the node if it cannot because it sleeps.
    fn can_run(&mut self, index: usize, thread: usize) -> bool {
        let bounded = self.is_bounded();
        let node = &self.nodes[index];
        let cost = node.cost + node.switch_cost(thread);
        if !self.affordable(cost) {
            return false;
        }
        let node = &mut self.nodes[index];
        if node.is_asleep(thread, bounded) {
            node.slept.insert(thread);
            return false;
        }
        true
    }

    fn diverge(&mut self, step: u64) {
        self.divergence.get_or_insert_with(|| divergence_message(step));
    }

    /// The node whose step is being taken.
    fn current(&mut self) -> Option<&mut Node> {
        let index = self.cursor.checked_sub(1)?;
        self.nodes.get_mut(index)
    }
}

impl Strategy for PartialOrder {
    fn begin(&mut self) -> bool {
        let found = !std::mem::replace(&mut self.started, true) || self.backtrack();
        self.cursor = 0;
        self.branch_cursor = 0;
        self.pending.forget();
        // The event of the last node is another one, or has another outcome; those before it are repeated.
        let repeated = self.depth.saturating_sub(1);
        self.kept = if std::mem::take(&mut self.without_events) { 0 } else { repeated };
        self.script
            .rewind(self.nodes.get(self.kept).map_or(0, |node| if self.kept == 0 { 0 } else { node.script }));
        self.events.truncate(self.kept);
        self.coast.rewind(self.kept);
        while self.deferred.pop_if(|deferred| deferred.depth > repeated).is_some() {}
        found
    }

    fn end(&mut self, _: &Outcome) {
        // An execution that was given up, or failed, may have passed fewer nodes than it had; which of those that it
        // repeats is not known.
        self.depth = self.depth.min(self.cursor.max(self.kept));
        self.unnoted = self.events.len().min(self.depth);
    }

    fn bound(&self) -> u32 {
        self.bound
    }

    fn advance(&mut self) -> bool {
        let last = self.max_bound.is_some_and(|max| self.bound >= max);
        if last || self.is_exhausted() {
            return false;
        }
        self.set_bound(self.bound + 1);
        true
    }

    fn max_bound(&self) -> Option<u32> {
        self.max_bound
    }

    fn is_exhausted(&self) -> bool {
        self.bound_pruned == 0
    }

    fn progress(&self) -> (u64, Option<f64>) {
        let own = self.nodes[..self.depth].iter().skip(self.item.depth());
        let left = own.map(|node| {
            node.todo.iter().filter(|&t| !node.done.contains(t)).count().saturating_sub(1) as u64
        });
        (left.sum(), None)
    }

    fn restart(&mut self) {
        self.set_bound(0);
        self.divergence = None;
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
