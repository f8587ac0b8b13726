//! Which alternatives an execution shows to be needed: races between pending operations and events before them.

use super::additions::Otherwise;
use super::events::Event;
use super::grow::may_be_freed;
use super::touches::Touch;
use super::{Flaw, PartialOrder};
use crate::dependence;
use crate::program::{SchedulingPoint, Taken, ThreadSet};
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

impl PartialOrder {
    /// Analyses the pending operations in the state after `depth` events: those that are new, and those that conflict
    /// with the newest event. `without` has no pending operation.
    #[inline]
    pub(super) fn analyse(&mut self, depth: usize, point: &SchedulingPoint<'_>, without: Option<usize>) {
        let mut left = self.concerned(depth, 0) & !point.ended.word();
        if self.flaw == Flaw::BlockedIgnored {
            left &= point.enabled.word();
        }
        if let Some(without) = without.filter(|&without| without < ThreadSet::WORD) {
            left &= !(1 << without);
        }
        while left != 0 {
            let thread = left.trailing_zeros() as usize;
            left &= left - 1;
            self.analyse_thread(depth, thread, &point.pending[thread]);
        }
        if self.pending.count() > ThreadSet::WORD {
            self.analyse_many(depth, point, without);
        }
    }

    #[cold]
    fn analyse_many(&mut self, depth: usize, point: &SchedulingPoint<'_>, without: Option<usize>) {
        for base in (ThreadSet::WORD..self.pending.count()).step_by(ThreadSet::WORD) {
            let left = self.concerned(depth, base);
            self.analyse_some(depth, point, without, base, left);
        }
    }

    /// Analyses those of the threads from `base` on that have a bit in `left`.
    fn analyse_some(
        &mut self,
        depth: usize,
        point: &SchedulingPoint<'_>,
        without: Option<usize>,
        base: usize,
        mut left: u64,
    ) {
        while left != 0 {
            let thread = base + left.trailing_zeros() as usize;
            left &= left - 1;
            let ignored = self.flaw == Flaw::BlockedIgnored && !point.enabled.contains(thread);
            if !ignored && Some(thread) != without && !point.ended.contains(thread) {
                self.analyse_thread(depth, thread, &point.pending[thread]);
            }
        }
    }

    /// The threads from `base` on, up to 64 of them, whose pending operation is new or conflicts with the newest event.
    #[inline(always)]
    fn concerned(&self, depth: usize, base: usize) -> u64 {
        let Some(newest) = depth.checked_sub(1) else {
            return u64::MAX >> (64 - (self.pending.count() - base).min(64));
        };
        let event = self.events.get(newest);
        let word = self.pending.conflicting(base, &event.footprint, event.only);
        let position = event.thread.wrapping_sub(base);
        if position < 64 { word | 1 << position } else { word }
    }

    #[inline(always)]
    fn analyse_thread(&mut self, depth: usize, thread: usize, operation: &Operation) {
        self.clock_is_known = false;
        let want = self.pending.want(thread);
        match want.only() {
            Some(access) => {
                let newest = self.events.newest_on(access.object);
                if let Some(&touch) = self.events.unknown_from(newest, thread, self.events.known(thread)) {
                    self.analyse_object(depth, thread, operation, access, want.unhindered, touch);
                }
            }
            None if want.is_nothing() => {}
            None => self.analyse_objects(depth, thread, *operation),
        }
    }

    /// The operation touches one object: the events on it that the thread does not know, newest first, which is `newest`.
    #[inline(never)]
    fn analyse_object(
        &mut self,
        depth: usize,
        thread: usize,
        operation: &Operation,
        access: Access,
        unhindered: bool,
        newest: Touch,
    ) {
        self.settled.clear();
        let known = self.events.known(thread);
        let mut next = Some(&newest);
        while let Some(touch) = next {
            let by = touch.thread as usize;
            let mut before = self.events.before(touch);
            if touch.commutes(access.mode) {
                before = self.events.otherwise(touch);
            } else {
                if !unhindered {
                    self.races.push(touch.event);
                } else if self.settled.contains(by) {
                    before = self.events.elsewhere(touch);
                } else {
                    self.settled.insert(by);
                    if !self.has_nothing_to_add(touch.event as usize) {
                        self.races.push(touch.event);
                    }
                }
            }
            next = self.events.unknown_from(before, thread, known);
        }
        if !self.races.is_empty() {
            self.take_races(depth, thread, operation, unhindered);
        }
    }

    /// The races that have been found are judged, and taken up.
    fn take_races(&mut self, depth: usize, thread: usize, operation: &Operation, unhindered: bool) {
        let mut position = 0;
        while let Some(&index) = self.races.get(position) {
            position += 1;
            let index = index as usize;
            if unhindered {
                self.add_with_block(depth, index, thread, Otherwise::Nobody);
            } else {
                let by = self.events.get(index).thread;
                if !self.settled.contains(by) && self.judge(depth, index, thread, *operation) {
                    self.settled.insert(by);
                }
            }
        }
        self.races.clear();
    }

    /// The operation touches several objects.
    #[inline(never)]
    fn analyse_objects(&mut self, depth: usize, thread: usize, operation: Operation) {
        let (events, races) = (&self.events, &mut self.races);
        let known = events.known(thread);
        self.pending.accesses(thread, |access| {
            let mut next = events.unknown_from(events.newest_on(access.object), thread, known);
            while let Some(touch) = next {
                let before = if touch.commutes(access.mode) {
                    events.otherwise(touch)
                } else {
                    races.push(touch.event);
                    events.before(touch)
                };
                next = events.unknown_from(before, thread, known);
            }
        });
        // By thread, and of each the newest first.
        races.sort_unstable_by_key(|&index| (events.get(index as usize).thread, std::cmp::Reverse(index)));
        races.dedup();
        let (mut position, mut settled) = (0, None);
        while let Some(&index) = self.races.get(position) {
            position += 1;
            let by = self.events.get(index as usize).thread;
            if settled != Some(by) && self.judge(depth, index as usize, thread, operation) {
                settled = Some(by);
            }
        }
        self.races.clear();
    }

    /// The event conflicts with the operation that the thread has pending, and is not known to it. Whether older events of
    /// its thread need not be looked at.
    fn judge(&mut self, depth: usize, index: usize, thread: usize, operation: Operation) -> bool {
        let relation = self.relation(index, thread, operation);
        if relation == Relation::Parked {
            return false;
        }
        if relation != Relation::Enabling && self.has_nothing_to_add(index) {
            return relation == Relation::Reversible;
        }
        match relation {
            Relation::Reversible | Relation::Unknown => {
                let otherwise =
                    if may_be_freed(operation) { Otherwise::Everybody } else { Otherwise::Nobody };
                self.add_with_block(depth, index, thread, otherwise);
            }
            Relation::Enabling if self.is_bounded() && self.flaw != Flaw::EnablingIgnored => {
                self.know_clock(thread);
                self.defer(depth, index, thread);
            }
            Relation::Enabling | Relation::Parked => {}
        }
        relation == Relation::Reversible
    }

    /// The causal past of the operation that the thread has pending.
    pub(super) fn know_clock(&mut self, thread: usize) {
        if !self.clock_is_known {
            self.clock.clone_from(self.events.known(thread));
            self.pending.accesses(thread, |access| self.events.join_access(access, &mut self.clock));
            self.clock_is_known = true;
        }
    }

    /// Nobody can go on in the state after `depth` events. Threads that wait there could have gone on early before others had come to
    /// their ends, or to where they wait: what each of these has done last is in the way of that, whatever it touches. (They may have gone on so often since
    /// that they cannot do so any more.)
    #[cold]
    pub(super) fn analyse_left(&mut self, depth: usize, point: &SchedulingPoint<'_>) {
        let waits_for_time =
            |thread: usize| !point.ended.contains(thread) && may_be_freed(point.pending[thread]);
        for thread in (0..point.pending.len()).filter(|&t| point.early.contains(t) || waits_for_time(t)) {
            self.clock.clone_from(self.events.known(thread));
            self.clock_is_known = true;
            for other in (0..self.events.thread_count()).filter(|&other| other != thread) {
                let Some(&last) = self.events.of(other).last() else { continue };
                if self.events.get(last as usize).number > self.clock.get(other) {
                    self.add_with_block(depth, last as usize, thread, Otherwise::Everybody);
                }
            }
        }
        self.clock_is_known = false;
    }

    /// The step is the newest event; see [`Events::push`](super::events::Events::push).
    #[inline(never)]
    pub(super) fn push_event(&mut self, step: &Taken<'_>, early: bool) {
        if step.accesses.len() > 1 && !step.yielded {
            return self.push_with_parts(step, early);
        }
        let fuses = self.is_bounded();
        self.events.push(step, early, fuses);
    }

    /// What the step has touched besides what it was known to want while it was pending is a part of it: who is woken by a
    /// notification, and that the thread has been woken.
    #[inline(never)]
    fn push_with_parts(&mut self, step: &Taken<'_>, early: bool) {
        let foresees = |access: &&Access| {
            let same = |wanted: Access| {
                wanted.object == access.object && (wanted.mode == access.mode || wanted.mode == Mode::Write)
            };
            dependence::accesses(step.operation).any(same)
        };
        let foreseen = step.accesses.iter().take_while(foresees).count();
        let (accesses, parts) = step.accesses.split_at(foreseen);
        let fuses = self.is_bounded();
        self.events.push(&Taken { accesses, ..*step }, early, fuses);
        for &access in parts {
            if !self.events.is_only_notified(access) && self.flaw != Flaw::WokenIgnored {
                self.analyse_part(access);
            }
            self.events.touch(access);
        }
    }

    /// This access is about to become part of the newest event: its thread ends, or does something without a decision of
    /// its own while it unwinds. Whoever has touched the object could have done so later, which could not be seen while
    /// the event was pending; and what leads to an older race of the event is more than was seen then.
    pub(super) fn analyse_part(&mut self, access: Access) {
        let Some(newest) = self.events.len().checked_sub(1) else { return };
        if self.flaw == Flaw::PartsIgnored {
            return;
        }
        if self.events.depends_already(access) {
            return;
        }
        let event = self.events.get(newest);
        let thread = event.thread;
        self.clock.clone_from(&event.clock);
        self.events.join_access(access, &mut self.clock);
        self.clock_is_known = true;
        let mut known = std::mem::take(&mut self.known);
        known.clone_from(self.events.known_before(newest));
        for other in (0..self.events.thread_count()).filter(|&other| other != thread) {
            for position in (0..self.events.of(other).len()).rev() {
                let index = self.events.of(other)[position] as usize;
                let earlier = self.events.get(index);
                if earlier.number <= known.get(other) {
                    break;
                }
                let footprint = &self.events.get(newest).footprint;
                let with_part = earlier.footprint.mode(access.object);
                if earlier.footprint.conflicts(footprint)
                    || with_part.is_some_and(|mode| mode != access.mode || mode == Mode::Write)
                {
                    self.add_with_block(newest, index, thread, Otherwise::Nobody);
                }
            }
        }
        self.known = known;
    }

    /// How the event stands to the operation that the thread has pending now.
    fn relation(&self, index: usize, thread: usize, operation: Operation) -> Relation {
        let event = self.events.get(index);
        let waits_in_pause = self.is_pause_that_waits(thread, operation);
        let need = needed(operation);
        if need.is_none() && !waits_in_pause {
            return Relation::Reversible;
        }
        // The same operation was pending at the event's node if the thread has taken no step since.
        let was_pending = self.events.rests_since(thread, index) && self.was_born(thread, index);
        let was_ready = self.nodes[index].enabled.contains(thread);
        if was_pending && was_ready {
            return Relation::Reversible;
        }
        if event.action == Action::ReadUnlock && was_pending && self.has_come_to_write(thread, operation) {
            // As long as that reader was there, nothing let the writer in.
            return Relation::Parked;
        }
        if operation.action == Action::WriteLock
            && matches!(event.action, Action::ReadLock | Action::TryReadLock | Action::ReadUnlock)
        {
            // A reader that comes keeps a writer out, and commutes with one that goes, who may let it in. And while there are readers, a
            // writer that has come is one thing, and one that has not can still come.
            return Relation::Unknown;
        }
        if matches!(operation.action, Action::ReadLock | Action::WriteLock)
            && event.action == Action::WriteLock
        {
            // A writer that gets the lock, or one that says that it waits.
            return Relation::Unknown;
        }
        let waits_twice = matches!(operation.action, Action::Reacquire { .. });
        let enables = match need {
            // A scope joins who has left, and has its thread-locals to drop yet: then it is not the end that is waited for.
            Some(object)
                if operation.action == Action::Join && !was_pending && self.may_have_left(index, object) =>
            {
                None
            }
            Some(object) => match was_blocked(event, object, operation.action) {
                Some(blocked) => Some(blocked && event.footprint.writes(object)),
                // It may have been the notification that it waited for, which has nothing to do with the mutex that the event writes; and a mended lock is
                // not let go.
                None if waits_twice || event.action == Action::ClearPoison => None,
                // What kept a waiting thread is what the event writes, as far as there is one object only.
                None => was_pending.then(|| event.footprint.writes(object)),
            },
            None => self.ends_pause(event, thread).filter(|_| was_pending),
        };
        let enables = if waits_twice && self.wakes(event, thread) { Some(true) } else { enables };
        match enables {
            Some(true) if was_pending && waits_twice && self.could_wake_without(index, thread) => {
                Relation::Unknown
            }
            Some(true) if was_pending => Relation::Parked,
            // Nothing was done on the way to where it would have blocked: blocking there spares nobody a preemption.
            Some(true) if !self.events.acts_after(thread, index) => Relation::Parked,
            Some(true) => Relation::Enabling,
            Some(false) if !was_pending && !waits_twice && need_is_free(event, need, operation) => {
                Relation::Reversible
            }
            Some(false) | None => Relation::Unknown,
        }
    }

    /// Whether the thread of the event may have left before it: it has written to itself, which this object is.
    fn may_have_left(&self, index: usize, object: ObjectId) -> bool {
        let own = self.events.of(self.events.get(index).thread).iter().map(|&event| event as usize);
        own.take_while(|&event| event < index).any(|event| self.events.get(event).footprint.writes(object))
    }

    /// Whether the thread has said already that it waits to write, and waits for its turn.
    fn has_come_to_write(&self, thread: usize, operation: Operation) -> bool {
        operation.action == Action::WriteLock
            && self.events.of(thread).last().is_some_and(|&last| {
                let last = self.events.get(last as usize);
                last.action == Action::WriteLock && last.object == operation.object
            })
    }

    /// Whether the event lets the thread go on, which waits for a change in a pause. `None`: others that come before it may do so as well: the pause
    /// waits for one of several objects, or they commute with the event (two owners go, two readers).
    fn ends_pause(&self, event: &Event, thread: usize) -> Option<bool> {
        let awaited = self.pending.want(thread).only()?;
        match event.footprint.mode(awaited.object) {
            Some(Mode::Update) => None,
            mode => Some(mode == Some(Mode::Write)),
        }
    }

    /// Whether the event is the notification that wakes the thread.
    fn wakes(&self, event: &Event, thread: usize) -> bool {
        matches!(event.action, Action::NotifyOne | Action::NotifyAll)
            && self.events.thread_object(thread).is_some_and(|object| event.footprint.writes(object))
    }

    /// Whether the thread, which waits on a condvar, could go on early where it began to wait, or because nobody else could, but not before this
    /// event, because somebody had the mutex then: who lets go of that may do so before the event.
    fn could_wake_without(&self, index: usize, thread: usize) -> bool {
        let Some(&wait) = self.events.of(thread).last() else { return false };
        let could = |node: usize| {
            self.nodes[node].early.contains(thread) || self.nodes[node].enabled.contains(thread)
        };
        could(wait as usize + 1) && !could(index)
    }

    /// Whether the thread existed at the node.
    fn was_born(&self, thread: usize, index: usize) -> bool {
        // Threads are spawned by events; a thread without events knows its spawn.
        !self.events.of(thread).is_empty() || {
            let event = self.events.get(index);
            self.events.known(thread).get(event.thread) < event.number
        }
    }

    fn is_pause_that_waits(&self, thread: usize, operation: Operation) -> bool {
        dependence::mode(operation.action).is_none() && !self.pending.want(thread).is_nothing()
    }
}

/// How an event stands to an operation pending after it, with which it conflicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    /// The operation could have been taken before the event: a race. Older events of the same thread show in the
    /// reversed execution.
    Reversible,
    /// The event enables the operation, and the thread came to it only afterwards.
    Enabling,
    /// The thread was waiting for the event: nothing to reverse.
    Parked,
    /// It cannot be told, or something else keeps the operation: to be tried, and older events too.
    Unknown,
}

/// The object whose state can keep the operation from taking effect. A condvar's reacquire needs a notification too.
pub(super) fn needed(operation: Operation) -> Option<ObjectId> {
    match operation.action {
        Action::Reacquire { .. } => Some(operation.other),
        Action::Lock
        | Action::ReadLock
        | Action::WriteLock
        | Action::BarrierLeave
        | Action::OnceEnter
        | Action::OnceWait
        | Action::OnceWaitForce
        | Action::Send
        | Action::SendFinish
        | Action::Receive { .. }
        | Action::Join
        | Action::Park { .. } => Some(operation.object),
        _ => None,
    }
}

/// Whether it is certain that the operation could have been taken right before the event.
fn need_is_free(event: &Event, need: Option<ObjectId>, operation: Operation) -> bool {
    need.is_some_and(|object| was_blocked(event, object, operation.action) == Some(false))
}

/// Whether the object kept such an operation from taking effect right before the event; `None`: it cannot be told from
/// the event alone.
fn was_blocked(event: &Event, object: ObjectId, wanted: Action) -> Option<bool> {
    let mode = event.footprint.mode(object)?;
    match (wanted, event.action) {
        (Action::Lock | Action::Reacquire { .. }, Action::Unlock | Action::Wait { .. }) => Some(true),
        (Action::Lock | Action::Reacquire { .. }, Action::Lock | Action::Reacquire { .. }) => Some(false),
        (Action::Lock | Action::Reacquire { .. }, Action::TryLock) => Some(mode == Mode::Read),
        (Action::ReadLock | Action::WriteLock, Action::WriteUnlock | Action::Downgrade) => Some(true),
        (Action::ReadLock, Action::ReadLock) => Some(false),
        (Action::OnceEnter, Action::OnceLeave) => Some(true),
        (Action::OnceEnter, Action::OnceEnter) => Some(false),
        (Action::Join, _) => Some(true),
        // One that may be over before its time is not kept by this alone.
        (Action::Receive { timed: false }, _) if event.object == object => {
            event.found.map(|found| !found.can_receive)
        }
        (Action::Send, _) if event.object == object => event.found.map(|found| !found.can_send),
        _ => None,
    }
}
