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
//! 3. All threads that could lead to the reversal are added, not one; if one of them sleeps, all enabled ones.
//! 4. Under a bound the start of the event's context block is a point to try too; a yield ends a block.
//! 5. Under a bound a thread sleeps only where moving its step, or its whole block, to the front is free.
//! 6. A thread's begin, and its join of a thread that has ended, are *free*: nothing that comes later conflicts with
//!    them. Under a bound such a step and the thread's next one are one transition: nothing is tried in between that could
//!    not be tried before, they sleep together, and what blocks after free steps alone has spared nobody a preemption.
//!    Without a bound they are taken at once, so that it is known what the thread does next.
//!
//! Steps that go on early (a wait that expires or wakes spuriously, at a cost) are tried at every node that can afford
//! them; outcomes inside a step (`notify_one`, `choose`, weak failures) are all tried.

mod analysis;
mod chooser;
mod encoding;
mod events;
mod footprint;
mod item;
mod node;
mod script;
mod split;

use crate::clock::VectorClock;
use crate::dependence;
use crate::program::{Chooser, Outcome, SchedulingPoint, Strategy, ThreadSet, divergence_message};
use crate::trace::{Access, Action, Mode, Operation, ThreadId};
use analysis::Deferred;
use events::Events;
use footprint::Footprint;
pub use item::{Item, Remains};
use node::{Node, Sleeper};
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
    /// Sleeping blocks name objects that are new as if their numbers were the same in every execution.
    NumbersTrusted,
}

/// Bounds searched one by one before a search without a last bound drops the bound altogether.
const BOUNDS_BEFORE_UNBOUNDED: u32 = 3;

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
    /// Nodes from here on are visited for the first time with their present choices.
    fresh: usize,
    /// Events that the next execution only repeats.
    kept: usize,
    /// Branches of the current node that have been asked for.
    branch_cursor: usize,
    script: Script,
    events: Events,
    started: bool,
    /// Choices that the bound did not allow.
    bound_pruned: u64,
    divergence: Option<String>,
    /// There is a `try_send` in the program.
    tries_to_send: bool,
    /// That has only just been seen: the bound is searched anew.
    anew: bool,
    /// By depth.
    deferred: Vec<Deferred>,
    /// The part of the search that is being done.
    item: Item,
    // Buffers.
    /// Of the operations pending at the newest node; there may be more slots than threads.
    pending: Vec<Footprint>,
    /// So many are up to date; 0: none, at the first node that the execution is the first to reach.
    pending_count: usize,
    /// The objects of those read last are numbered below this.
    pending_objects: usize,
    clock: VectorClock,
    known: VectorClock,
    candidates: ThreadSet,
    settled: ThreadSet,
    concerned: ThreadSet,
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
            fresh: 0,
            kept: 0,
            branch_cursor: 0,
            script: Script::default(),
            events: Events::default(),
            started: false,
            bound_pruned: 0,
            divergence: None,
            tries_to_send: false,
            anew: false,
            deferred: Vec::new(),
            item: Item::root(),
            pending: Vec::new(),
            pending_count: 0,
            pending_objects: 0,
            clock: VectorClock::new(),
            known: VectorClock::new(),
            candidates: ThreadSet::new(),
            settled: ThreadSet::new(),
            concerned: ThreadSet::new(),
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

    /// A new node for the state in which the running execution is.
    #[inline]
    fn push_node(&mut self, point: &SchedulingPoint<'_>, place: u64) {
        let index = self.depth;
        if self.nodes.len() == index {
            self.nodes.push(Node::default());
        }
        self.depth += 1;
        let (before, rest) = self.nodes.split_at_mut(index);
        let node = &mut rest[0];
        node.reset();
        node.enabled.clone_from(point.enabled);
        node.early.clone_from(point.early);
        node.previous = point.previous.map(ThreadId::index);
        node.previous_yielded = point.yielded;
        node.place = place;
        node.number = point.step;
        node.previous_blocked =
            node.previous.is_some_and(|p| !point.enabled.contains(p) && !point.ended.contains(p));
        if let Some(previous) = node.previous.filter(|_| node.previous_blocked) {
            node.previous_pending.copy_from(&self.pending[previous]);
            let block = self.events.last().map_or(0, |event| event.block);
            if self.events.len() == index && (block..index).all(|event| self.events.get(event).is_free()) {
                // It came here without doing anything, and might as well have come later: who counts is the one before.
                let before = &before[block];
                node.previous_blocked = before.previous_blocked;
                node.previous_pending.copy_from(&before.previous_pending);
            }
        }
        node.cost = 0;
        node.object_count = self.pending_objects;
        match (before.last(), self.events.last()) {
            (Some(parent), Some(event)) => {
                node.cost = parent.cost + parent.switch_cost(parent.chosen);
                if !parent.branches.is_empty() {
                    node.cost += parent.branch_cost();
                }
                node.object_count =
                    node.object_count.max(parent.object_count).max(event.footprint.object_count());
                node.inherit(parent, event, self.budget.is_some());
            }
            _ => node.sleep.clear(),
        }
        node.inherited_count = node.sleep.len();
        if !node.early.is_empty() {
            // Early steps are an alternative wherever they are possible.
            node.early.iter().for_each(|thread| node.todo.insert(thread));
        }
        // So are waits that may be over because nobody can go on: the order in which they are decides who can go on later.
        node.freed = node.enabled.first().is_some_and(|first| may_be_freed(point.pending[first]))
            && node.enabled.iter().all(|t| may_be_freed(point.pending[t]));
        if node.freed {
            node.enabled.iter().for_each(|thread| node.todo.insert(thread));
        }
    }

    /// The footprint of every pending operation.
    fn read_pending(&mut self, point: &SchedulingPoint<'_>) {
        let count = point.pending.len();
        if self.pending.len() < count {
            self.pending.resize_with(count, Footprint::default);
        }
        self.pending_objects = 0;
        match point.previous {
            Some(previous) if self.pending_count > 0 && point.others_unchanged => {
                self.read_operation(previous.index(), point);
                while self.pending_count < count {
                    self.read_operation(self.pending_count, point);
                    self.pending_count += 1;
                }
            }
            _ => {
                self.pending_count = count;
                (0..count).for_each(|thread| self.read_operation(thread, point));
            }
        }
    }

    #[inline]
    fn read_operation(&mut self, thread: usize, point: &SchedulingPoint<'_>) {
        let operation = point.pending[thread];
        if matches!(operation.action, Action::TrySend) && !self.tries_to_send {
            self.tries_to_send = true;
            self.anew = true;
        }
        let footprint = &mut self.pending[thread];
        match dependence::mode(operation.action) {
            Some(mode) if operation.object.is_some() && !operation.other.is_some() => {
                footprint.set(Access { object: operation.object, mode });
            }
            _ => {
                footprint.clear();
                dependence::accesses(operation).for_each(|access| footprint.add(access));
            }
        }
        if let Some(awaited) = point.awaited.get(thread) {
            awaited.iter().for_each(|&object| footprint.add(Access { object, mode: Mode::Read }));
        }
        self.pending_objects = self.pending_objects.max(footprint.object_count());
    }

    /// The first thread that can be run at a new node: the one that ran before, then the others in order.
    #[inline]
    fn first_choice(&mut self, index: usize, pending: &[Operation]) -> Option<usize> {
        let node = &self.nodes[index];
        let continued = node.previous.filter(|&p| node.enabled.contains(p) && !node.previous_yielded);
        if self.is_bounded() && node.sleep.is_empty() {
            // What costs nothing can be afforded, and nobody sleeps.
            if let Some(thread) = continued.or_else(|| node.enabled.first()) {
                return Some(thread);
            }
        }
        self.first_awake(index, continued, pending)
    }

    fn first_awake(
        &mut self,
        index: usize,
        continued: Option<usize>,
        pending: &[Operation],
    ) -> Option<usize> {
        let node = &self.nodes[index];
        let free = || node.enabled.iter().find(|&t| events::is_free(pending[t].action));
        if !self.is_bounded()
            && let Some(thread) = free()
            && self.can_run(index, thread)
        {
            // Switching costs nothing: what the thread does next is known sooner.
            return Some(thread);
        }
        if let Some(thread) = continued
            && self.can_run(index, thread)
        {
            return Some(thread);
        }
        let mut next = self.nodes[index].enabled.first();
        while let Some(thread) = next {
            if Some(thread) != continued && self.can_run(index, thread) {
                return Some(thread);
            }
            next = self.nodes[index].enabled.next_after(thread);
        }
        // Everybody who can go on sleeps; what goes on early is not covered by that.
        let mut next = self.nodes[index].early.first();
        while let Some(thread) = next {
            if self.can_run(index, thread) {
                return Some(thread);
            }
            let node = &self.nodes[index];
            if !self.affordable(node.cost + node.switch_cost(thread)) {
                // The node is given up: nobody else will count it.
                self.bound_pruned += 1;
            }
            next = self.nodes[index].early.next_after(thread);
        }
        None
    }

    /// The alternative of a node that has just been explored goes to sleep for the ones after it, where that is sound.
    fn finish(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        node.done.insert(node.chosen);
        if node.todo.is_within(&node.done) {
            return;
        }
        if let Some(sleeper) = self.sleeper(index) {
            self.nodes[index].sleep.push(sleeper);
        }
    }

    /// The node's choice, asleep for the ones after it, where that is sound.
    fn sleeper(&self, index: usize) -> Option<Sleeper> {
        let node = &self.nodes[index];
        let thread = node.chosen;
        if node.is_early(thread) || node.freed {
            return None;
        }
        let continued = node.previous == Some(thread) && !node.previous_yielded;
        let naive = self.flaw == Flaw::NaiveSleep;
        let footprint = if !self.is_bounded() || continued || node.stops || naive {
            &node.step
        } else if self.rule == SleepRule::Block {
            &node.block
        } else {
            return None;
        };
        let known = if self.flaw == Flaw::NumbersTrusted { usize::MAX } else { node.object_count };
        Some(Sleeper::new(thread, footprint, known))
    }

    /// Takes the next outcome of the node's step, if there is one left that can be afforded.
    fn next_outcome(&mut self, index: usize) -> bool {
        let node = &self.nodes[index];
        if node.branches.is_empty() {
            return false;
        }
        let base = node.cost + node.switch_cost(node.chosen);
        let fixed = self.fixed_outcomes(index);
        while self.nodes[index].branches.len() > fixed
            && let Some(branch) = self.nodes[index].branches.last().copied()
        {
            if branch.chosen + 1 < branch.count {
                let node = &mut self.nodes[index];
                if let Some(last) = node.branches.last_mut() {
                    last.chosen += 1;
                }
                if self.affordable(base + self.nodes[index].branch_cost()) {
                    return true;
                }
                self.bound_pruned += 1;
            }
            self.nodes[index].branches.pop();
        }
        false
    }

    /// Prepares the next execution: the deepest node with something left to do. `false`: there is none.
    fn backtrack(&mut self) -> bool {
        let floor = self.item.depth();
        while let Some(index) = self.depth.checked_sub(1) {
            if index + 1 < floor {
                return false;
            }
            if index >= floor && self.nodes[index].is_plain() {
                self.depth = index;
                continue;
            }
            if self.next_outcome(index) {
                self.fresh = index + 1;
                return true;
            }
            if index < floor {
                return false;
            }
            self.finish(index);
            while let Some(thread) = self.next_alternative(index) {
                if self.can_run(index, thread) {
                    self.nodes[index].choose(thread);
                    self.fresh = index;
                    return true;
                }
                let node = &self.nodes[index];
                let cost = node.cost + node.switch_cost(thread);
                if !self.affordable(cost) {
                    self.bound_pruned += 1;
                }
                self.nodes[index].done.insert(thread);
            }
            self.depth = index;
        }
        false
    }

    fn next_alternative(&self, index: usize) -> Option<usize> {
        let node = &self.nodes[index];
        if node.todo.is_within(&node.done) {
            return None;
        }
        node.todo
            .iter()
            .find(|&t| !node.done.contains(t) && (node.enabled.contains(t) || node.early.contains(t)))
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

/// Whether the operation can take effect just because nobody can go on.
fn may_be_freed(operation: Operation) -> bool {
    matches!(
        operation.action,
        Action::Reacquire { timed: true } | Action::Receive { timed: true } | Action::Park { timed: true }
    )
}

impl Strategy for PartialOrder {
    fn begin(&mut self) -> bool {
        if std::mem::take(&mut self.anew) {
            self.set_bound(self.bound);
        }
        let found = if self.started { self.backtrack() } else { true };
        if !self.started {
            self.fresh = 0;
            self.started = true;
        }
        self.cursor = 0;
        self.branch_cursor = 0;
        self.pending_count = 0;
        // The event of the last node is another one, or has another outcome; those before it are repeated.
        self.kept = self.depth.saturating_sub(1);
        self.script
            .rewind(self.nodes.get(self.kept).map_or(0, |node| if self.kept == 0 { 0 } else { node.script }));
        self.events.truncate(self.kept);
        while self.deferred.pop_if(|deferred| deferred.depth > self.kept).is_some() {}
        found
    }

    fn end(&mut self, _: &Outcome) {
        // An execution that was given up, or failed, may have passed fewer nodes than it had; which of those that it
        // repeats is not known.
        self.depth = self.depth.min(self.cursor.max(self.kept));
        self.note_footprints();
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
        let left = self.nodes[..self.depth].iter().map(|node| {
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
