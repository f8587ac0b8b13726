//! Reference counts of `Arc` and `Weak`. The counts themselves are std's, in the program's memory; the engine follows
//! the strong one as far as it is told.
//!
//! Happens-before as in std's implementation, where the two counts are two variables: going up is relaxed, going down releases; whoever
//! frees the value, finds itself the only owner or upgrades a `Weak` acquires what owners have released, and whoever frees the
//! allocation, gets the value for itself by `get_mut` or asks a `Weak` for the number of them what was released with a `Weak`. Who
//! fails to, or only asks, has read by a relaxed load, which orders nothing without a fence. Counts that go up and down commute as
//! long as nobody reads them and none reaches zero.

use super::{Effect, Object, State};
use crate::clock::VectorClock;
use crate::memory::happens_before::ThreadClock;
use crate::runtime::execution::Execution;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

/// What is known of an allocation's counts. What owners have released is the object's clock.
#[derive(Debug, Default)]
pub(crate) struct CountState {
    strong: Option<usize>,
    /// What was released with a `Weak`, and by whoever has seen the value go.
    weak: VectorClock,
}

/// Which of the two counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// That of the owners.
    Strong,
    /// That of those who only keep the allocation.
    Weak,
    /// One and the other.
    Both,
}

impl Execution {
    fn strong_count(&mut self, count: ObjectId) -> &mut Option<usize> {
        match &mut self.object_mut(count).state {
            State::Count(state) => &mut state.strong,
            other => unreachable!("a count's slot holds {other:?}"),
        }
    }

    /// The program says what the strong count is now.
    pub(in crate::runtime) fn learn_strong_count(&mut self, count: ObjectId, strong: usize) {
        *self.strong_count(count) = Some(strong);
    }

    /// Whether a drop of an `Arc` would free the value, as far as is known.
    pub(in crate::runtime) fn is_last(&self, count: ObjectId) -> bool {
        match &self.object_ref(count).state {
            State::Count(state) => state.strong.is_none_or(|strong| strong <= 1),
            _ => true,
        }
    }

    /// `strong`: the operation changes the strong count, else the weak one.
    pub(in crate::runtime) fn count(&mut self, operation: Operation, strong: bool) -> Effect {
        let me = self.current;
        let id = operation.object;
        let last = strong && self.is_last(id);
        let object = &mut self.objects[id.index()];
        let clock = match &mut object.state {
            State::Count(state) if !strong => &mut state.weak,
            _ => &mut object.clock,
        };
        let mine = &mut self.threads[me].clock;
        let mode = match operation.action {
            Action::CountDown => {
                mine.meet(clock);
                mine.release_join(me, clock);
                if last { Mode::Write } else { Mode::Update }
            }
            Action::CountUpdate => Mode::Write,
            Action::CountUp => {
                mine.update_relaxed(clock);
                Mode::Update
            }
            _ => Mode::Read,
        };
        if strong {
            let strong = self.strong_count(id);
            *strong = match operation.action {
                Action::CountUp => strong.map(|n| n + 1),
                Action::CountDown => strong.map(|n| n.saturating_sub(1)),
                Action::CountUpdate => None,
                _ => *strong,
            };
        } else if operation.action == Action::CountUpdate {
            // An upgrade may change the strong count.
            *self.strong_count(id) = None;
        }
        if mode == Mode::Read {
            self.note_read(id);
        } else {
            self.note_change(id);
        }
        let note = (operation.action == Action::CountDown && last).then_some("the last one");
        self.finish_single(operation, Access { object: id, mode }, None, None, note);
        Effect::Done
    }

    /// The running thread has let go of the allocation: who frees it sees what it did before.
    pub(in crate::runtime) fn count_left(&mut self, count: ObjectId, counts: Counts) {
        let me = self.current;
        let Object { state, clock, .. } = &mut self.objects[count.index()];
        let mine = &mut self.threads[me].clock;
        if let State::Count(state) = state
            && counts != Counts::Strong
        {
            state.weak.join(&mine.clock);
        }
        if counts != Counts::Weak {
            clock.join(&mine.clock);
        }
        mine.clock.tick(me);
    }

    /// The last owner is about to free the value, or the allocation: it has seen all the others go.
    pub(in crate::runtime) fn count_last(&mut self, count: ObjectId, counts: Counts) {
        // What has been freed so far was freed without that.
        self.note_freed();
        self.count_acquired(count, counts);
    }

    /// The running thread comes after what all did who have let go so far. What it has just freed, it has freed after that.
    pub(in crate::runtime) fn count_acquired(&mut self, count: ObjectId, counts: Counts) {
        self.count_seen(count, counts, ThreadClock::acquire);
    }

    /// The running thread has read a count by a relaxed load: after an acquire fence it comes after what all did who have let go so far.
    pub(in crate::runtime) fn count_met(&mut self, count: ObjectId, counts: Counts) {
        self.count_seen(count, counts, ThreadClock::meet);
    }

    fn count_seen(&mut self, count: ObjectId, counts: Counts, see: fn(&mut ThreadClock, &VectorClock)) {
        let me = self.current;
        let object = &self.objects[count.index()];
        let clock = &mut self.threads[me].clock;
        if counts != Counts::Weak {
            see(clock, &object.clock);
        }
        if let State::Count(state) = &object.state
            && counts != Counts::Strong
        {
            see(clock, &state.weak);
        }
    }
}
