//! Making nodes: what is known of a state when it is reached for the first time, and who goes on there.

use super::node::Node;
use super::{Flaw, PartialOrder, events, script};
use crate::program::{Foreseen, SchedulingPoint};
use crate::trace::{Action, Operation, ThreadId};

impl PartialOrder {
    /// A new node where nothing is out of the ordinary, and the thread that ran before goes on, as it does at nearly every one:
    /// in short what is done otherwise. `None`: nothing has been done.
    #[inline]
    pub(super) fn push_continued(&mut self, point: &SchedulingPoint<'_>, place: u64) -> Option<ThreadId> {
        let index = self.cursor;
        let previous = point.previous?;
        let thread = previous.index();
        let (before, rest) = self.nodes.split_at_mut_checked(index)?;
        let (parent, node) = (before.last_mut()?, rest.first_mut()?);
        let count = point.pending.len();
        let is_usual = point.others_unchanged
            && !point.yielded
            && point.early.is_empty()
            && point.enabled.contains(thread)
            && parent.chosen == thread
            && parent.branches.is_empty()
            && self.events.len() == index
            && self.events.thread_count() == count
            && self.pending.count() == count
            && self.item.depth() <= index
            && self.budget.is_some();
        let event = self.events.last().filter(|_| is_usual)?;
        let only = event.only?;
        if !parent.sleep.is_empty() && !parent.wakes_all(event, true, &self.pending) {
            return None;
        }
        if may_be_freed(point.pending[point.enabled.first()?]) {
            return None;
        }
        self.pending.read_own(thread, point);
        let known = parent.object_count.max(only.object.index() + 1);
        node.reset();
        node.enabled.clone_from(point.enabled);
        node.early.clear();
        node.object_count = self.pending.object_count.max(known);
        (node.freed, node.let_on) = (false, false);
        node.previous = Some(thread);
        node.previous_yielded = false;
        node.previous_blocked = false;
        node.cost = parent.cost + parent.switch_cost(thread);
        node.todo.insert(thread);
        if !node.sleep.is_empty() {
            node.sleep.clear();
        }
        node.inherited_count = 0;
        node.chosen = thread;
        node.place = place;
        node.number = point.step;
        node.spent = self.budget == Some(node.cost);
        node.script = self.script.len();
        self.depth = index + 1;
        if script::is_asked(point) {
            self.script.push(Foreseen { place, chosen: thread as u32 });
        }
        self.cursor = index + 1;
        self.branch_cursor = 0;
        self.analyse(index, point, None);
        Some(previous)
    }

    /// A new node for the state in which the running execution is.
    #[inline(always)]
    pub(super) fn push_node(&mut self, point: &SchedulingPoint<'_>, place: u64) {
        let index = self.depth;
        if self.nodes.len() == index {
            self.add_slot();
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
        node.previous_blocked = false;
        node.cost = 0;
        node.object_count = self.pending.object_count;
        match (before.last(), self.events.last()) {
            (Some(parent), Some(event)) => {
                node.cost = parent.cost + parent.switch_cost(parent.chosen);
                if !parent.branches.is_empty() {
                    node.cost += parent.branch_cost();
                }
                node.object_count =
                    node.object_count.max(parent.object_count).max(event.footprint.object_count());
                node.inherit(parent, event, self.budget.is_some(), &self.pending);
            }
            _ => node.sleep.clear(),
        }
        node.inherited_count = node.sleep.len();
        node.spent = node.is_spent(self.budget);
        let blocked = node.previous.filter(|&p| !point.enabled.contains(p) && !point.ended.contains(p));
        if !node.early.is_empty() {
            // Early steps are an alternative wherever they are possible.
            point.worth_letting_on().for_each(|thread| node.todo.insert(thread));
        }
        // So are waits that may be over because nobody can go on: the order in which they are decides who can go on later. Whoever has slept
        // long enough can go on, and still can when others have.
        let sleeps = |t: usize| point.pending[t].action == Action::SleepUntil;
        let waits = node.enabled.first().is_some_and(|first| may_be_freed(point.pending[first]))
            && node.enabled.iter().all(|t| may_be_freed(point.pending[t]));
        node.freed = waits && !node.enabled.iter().all(sleeps);
        node.let_on = waits || point.let_on.thread.is_some();
        if node.freed {
            node.add_all();
        }
        if node.let_on && self.flaw != Flaw::EarlySleepsOn {
            node.sleep.retain(|sleeper| !sleeper.early);
            node.inherited_count = node.sleep.len();
        }
        if let (Some(parent), node) = (before.last(), &rest[0])
            && !parent.sleep.is_empty()
            && node.has_woken_early(parent)
        {
            self.add_everybody_before(index - 1);
        }
        if let Some(previous) = blocked {
            self.note_blocked(index, previous);
        }
    }

    #[cold]
    fn add_slot(&mut self) {
        self.nodes.push(Node::default());
    }

    /// The thread that ran before is blocked at the new node.
    #[inline(never)]
    fn note_blocked(&mut self, index: usize, previous: usize) {
        let (before, rest) = self.nodes.split_at_mut(index);
        let node = &mut rest[0];
        let block = self.events.last().map_or(0, |event| event.block);
        if self.events.len() == index && (block..index).all(|event| self.events.get(event).is_free()) {
            // It came here without doing anything, and might as well have come later: who counts is the one before.
            let before = &before[block];
            node.previous_blocked = before.previous_blocked;
            node.previous_pending.copy_from(&before.previous_pending);
        } else {
            node.previous_blocked = true;
            node.previous_pending.copy_from(&self.pending.footprint(previous));
        }
    }

    /// The footprint of every pending operation.
    #[inline]
    pub(super) fn read_pending(&mut self, point: &SchedulingPoint<'_>) {
        self.pending.read(point);
    }

    /// Who is run first at a new node: who goes on early if somebody can and nobody is preempted by that, so that it sleeps for the others; then
    /// the one that ran before, then the others in order.
    #[inline]
    pub(super) fn first_choice(&mut self, index: usize, pending: &[Operation]) -> Option<usize> {
        let node = &self.nodes[index];
        let continued = node.previous.filter(|&p| node.enabled.contains(p) && !node.previous_yielded);
        let early = if continued.is_none() { self.first_early(index) } else { None };
        let usual = self.first_usual(index, continued, pending);
        if early.is_some() {
            if let Some(usual) = usual {
                self.nodes[index].todo.insert(usual);
            }
            return early;
        }
        let first = usual.or_else(|| self.first_early(index));
        if first.is_none() {
            // The node is given up: nobody else will count these.
            let node = &self.nodes[index];
            let is_out_of_reach = |&thread: &usize| {
                node.todo.contains(thread) && !self.affordable(node.cost + node.switch_cost(thread))
            };
            self.bound_pruned += node.early.iter().filter(is_out_of_reach).count() as u64;
        }
        first
    }

    /// The first thread that can simply be run at a new node.
    #[inline]
    fn first_usual(
        &mut self,
        index: usize,
        continued: Option<usize>,
        pending: &[Operation],
    ) -> Option<usize> {
        let node = &self.nodes[index];
        if self.is_bounded() && node.sleep.is_empty() {
            // What costs nothing can be afforded, and nobody sleeps.
            if let Some(thread) = continued.or_else(|| node.enabled.first()) {
                return Some(thread);
            }
        }
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
        None
    }

    /// The first thread that can go on early at a new node and is worth letting on.
    fn first_early(&mut self, index: usize) -> Option<usize> {
        let mut next = self.nodes[index].early.first();
        while let Some(thread) = next {
            if self.nodes[index].todo.contains(thread) && self.can_run(index, thread) {
                return Some(thread);
            }
            next = self.nodes[index].early.next_after(thread);
        }
        None
    }
}

/// Whether the operation can take effect just because nobody can go on.
pub(super) fn may_be_freed(operation: Operation) -> bool {
    matches!(
        operation.action,
        Action::SleepUntil
            | Action::Reacquire { timed: true }
            | Action::Receive { timed: true }
            | Action::Park { timed: true }
    )
}
