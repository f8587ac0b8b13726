//! What a race leads to: who is to be tried before its event, and before the block of that. It knows nothing of how races are
//! found.

use super::{Flaw, PartialOrder};
use crate::clock::VectorClock;

/// Who is to be tried before an event where nobody could lead to what is to come before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Otherwise {
    /// The thread waited there already, and whatever lets it go on has not been done, or only after the event. Where it is done by somebody who
    /// does not depend on the event, that is seen when it is done: the thread's operation is analysed again then.
    Nobody,
    /// It may go on because time passes, or nobody else can: no event lets it.
    Everybody,
}

impl PartialOrder {
    /// Whether everybody is to be tried before the event, and before its block, already.
    pub(super) fn has_nothing_to_add(&self, index: usize) -> bool {
        let event = self.events.get(index);
        let block = if self.is_bounded() { event.block } else { event.first };
        self.deferred.is_empty() && self.takes_nobody(event.first) && self.takes_nobody(block)
    }

    /// Whether it changes nothing if somebody more is to be tried at the node. Where the bound allows nobody else, that the
    /// bound leaves somebody out has to be noted once.
    #[inline]
    pub(super) fn takes_nobody(&self, index: usize) -> bool {
        let node = &self.nodes[index];
        node.is_full() || (node.spent && self.bound_pruned > 0)
    }

    /// The thread is to be tried before the event, and, under a bound, before the event's whole block.
    pub(super) fn add_with_block(&mut self, depth: usize, index: usize, thread: usize, otherwise: Otherwise) {
        self.add(depth, index, thread, otherwise);
        let block = self.events.get(index).block;
        if self.is_bounded()
            && block != index
            && self.flaw != Flaw::NoConservativePoints
            && !(otherwise == Otherwise::Nobody && self.follows_from_block(depth, block, thread))
        {
            self.add(depth, block, thread, otherwise);
        }
        if !self.deferred.is_empty() {
            self.take_up(index);
        }
    }

    /// Whether the thread has come to where it is because of the block: it depends on something that was done in it. Then what it does there cannot come
    /// before the block, whoever else does. And those whose being there first would stop the block halfway, at no cost, before it comes to the event,
    /// do something that conflicts with the block: the race of that says that they are to be tried before it.
    fn follows_from_block(&self, depth: usize, block: usize, thread: usize) -> bool {
        let known = match self.events.len() - depth {
            0 => self.events.known(thread),
            1 if self.events.get(depth).thread == thread => self.events.known_before(depth),
            _ => return false,
        };
        let first = self.events.get(block);
        known.get(first.thread) >= first.number
    }

    /// Who slept with its going on early is awake after the event: what it does there was run elsewhere, and only its races there say who else is to
    /// come before. So everybody is tried before the event, and, under a bound, before the event's whole block.
    #[cold]
    pub(super) fn add_everybody_before(&mut self, index: usize) {
        if self.flaw == Flaw::NoFallback {
            return;
        }
        let event = self.events.get(index);
        for index in [event.first, self.events.get(event.block).first] {
            if !self.takes_nobody(index) {
                self.coast.note_addition(index);
                self.nodes[index].add_all();
            }
        }
    }

    /// The event enables what the thread has pending now, and is a reason to try the thread first once somebody is to be
    /// let in before the thread's block is over.
    pub(super) fn defer(&mut self, depth: usize, index: usize, thread: usize) {
        let number = self.events.of(thread).len() as u32 + 1;
        let clock = self.clock.clone();
        self.deferred.push(Deferred { depth, index, thread, number, clock, taken_up: false });
    }

    /// Somebody is to be let in before this event: whatever its block has waited for up to there might have made leaving
    /// it free.
    fn take_up(&mut self, index: usize) {
        let event = self.events.get(index);
        let (thread, last) = (event.thread, event.number);
        let first = self.events.get(event.block).number;
        for position in 0..self.deferred.len() {
            let deferred = &mut self.deferred[position];
            if deferred.taken_up || deferred.thread != thread || !(first..=last).contains(&deferred.number) {
                continue;
            }
            deferred.taken_up = true;
            let (depth, index) = (deferred.depth, deferred.index);
            let is_known = std::mem::replace(&mut self.clock_is_known, true);
            std::mem::swap(&mut self.clock, &mut self.deferred[position].clock);
            self.add_with_block(depth, index, thread, Otherwise::Nobody);
            std::mem::swap(&mut self.clock, &mut self.deferred[position].clock);
            self.clock_is_known = is_known;
        }
    }

    #[inline(always)]
    fn add(&mut self, depth: usize, index: usize, thread: usize, otherwise: Otherwise) {
        // Between a free step and the next one of its thread there is nothing to try that could not be tried before it.
        let index = self.events.get(index).first;
        if !self.takes_nobody(index) {
            self.add_somebody(depth, index, thread, otherwise);
        }
    }

    fn add_somebody(&mut self, depth: usize, index: usize, thread: usize, otherwise: Otherwise) {
        self.coast.note_addition(index);
        let by = self.events.get(index).thread;
        let node = &self.nodes[index];
        let falls_back = self.flaw != Flaw::NoFallback;
        let is_enabled = node.enabled.contains(thread);
        let one = self.flaw == Flaw::OneCandidate;
        // What it does here was run elsewhere, and only its races there say who else is to come before: what it does need not be what it did after the
        // event (it may end where it went on), so that others may be to come before it here.
        if (is_enabled || node.is_early(thread)) && falls_back && node.inherited(thread) {
            return self.nodes[index].add_all();
        }
        if is_enabled && thread != by && !one && node.enabled.has_only(by, thread, &node.todo) {
            // Whoever else could lead to it is to be tried already.
            self.nodes[index].todo.insert(thread);
            return;
        }
        self.candidates.clear();
        if is_enabled && thread != by {
            self.candidates.insert(thread);
        }
        let mut next = self.nodes[index].enabled.first();
        while let Some(other) = next {
            let node = &self.nodes[index];
            next = node.enabled.next_after(other);
            // Who is to be tried already need not be looked at, if it is known that not everybody is added.
            let is_settled = is_enabled && thread != by && node.todo.contains(other) && !one;
            if other != by && other != thread && !is_settled && self.leads(depth, index, other, thread) {
                self.candidates.insert(other);
            }
        }
        if let Some(first) = self.candidates.first().filter(|_| one) {
            self.candidates.clear();
            self.candidates.insert(first);
        }
        let node = &mut self.nodes[index];
        let lost =
            falls_back && !is_enabled && self.candidates.iter().any(|candidate| node.inherited(candidate));
        if self.candidates.is_empty() {
            // Who has gone on since although nobody lets it may do so earlier.
            if otherwise == Otherwise::Everybody || !self.events.rests_since(thread, index) {
                node.add_all();
            }
        } else if lost {
            node.add_all();
        } else {
            self.candidates.iter().for_each(|candidate| node.todo.insert(candidate));
        }
    }

    /// Whether the first event of the thread `other` after the one to be reversed is not caused by that one, and causes the
    /// operation that the thread has pending.
    fn leads(&mut self, depth: usize, index: usize, other: usize, thread: usize) -> bool {
        let events = self.events.of(other);
        let first = events.partition_point(|&e| (e as usize) <= index);
        let Some(&first) = events.get(first).filter(|&&e| (e as usize) < depth) else { return false };
        self.know_clock(thread);
        let (event, first) = (self.events.get(index), self.events.get(first as usize));
        first.number <= self.clock.get(other) && first.clock.get(event.thread) < event.number
    }
}

/// An event that enables what a thread has pending after it, the thread having come to it only afterwards.
#[derive(Debug)]
pub(super) struct Deferred {
    /// Events before the state where that was seen.
    pub(super) depth: usize,
    pub(super) index: usize,
    pub(super) thread: usize,
    /// Number of the pending operation among the thread's events.
    pub(super) number: u32,
    pub(super) clock: VectorClock,
    pub(super) taken_up: bool,
}
