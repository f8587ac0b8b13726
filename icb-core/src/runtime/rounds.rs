//! Rounds: what a thread does over and over without a pause. A loop that waits need not say so (a task that wakes itself, and is
//! polled again at once): if it does exactly the same again and again, it is taken for one that pauses each time round.
//!
//! A loop that waits looks at something again and again. One that does the same to one object after another (an array is made, or gone through) comes to its end:
//! in each round the objects must be those of the round before, or new ones, and not all of them may be new.
//!
//! A lock is a part of such a loop where what it guards is a value that is seen, see [`Handle::unlock`](super::Handle::unlock): it is looked at when the lock is let
//! go. The pause comes where the thread holds as little as it ever does in its loop, so that others get what they need to change something.
//!
//! Looked for after [`FIRST_WATCH`] changes of a thread, and each time that they have doubled, for a while: so executions of
//! usual length know nothing of this. Depends on nothing but what the thread itself has done and read. Knows nothing of turns
//! (`turns`), which say what comes of the pauses.

use crate::program::Place;
use crate::trace::{Action, ObjectId, Operation};
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many things has a thread changed when it is watched for the first time.
const FIRST_WATCH: u32 = 128;
/// Operations that it is watched for.
const WATCH: u16 = 256;
/// Each time that it has done so many more, it is looked whether they repeat.
const BETWEEN_LOOKS: usize = 16;
/// The longest loop that is recognised, in operations.
const MAX_PERIOD: usize = 32;
/// So many rounds must have been the same, and so many operations.
const MIN_ROUNDS: usize = 8;
const MIN_OPERATIONS: usize = 64;

/// What a thread that is watched has done.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Things that it has changed.
    changes: u32,
    /// When there are so many, it is watched.
    next_watch: u32,
    /// What it does is noted as soon as it has changed more things than this.
    begins_after: u32,
    /// Operations that it is still watched for; while it goes round in a loop that is known, it is watched.
    pub(crate) watched: u16,
    /// What has been done. Once its loop is known: one round, the last.
    done: Vec<Done>,
    /// Something of the round before has been come back to in this one. (Once its loop is known.)
    comes_back: bool,
    /// The loop's operations; 0: none is known.
    period: usize,
    /// Where in the loop it is.
    at: usize,
    /// What is guarded by the lock that the thread is about to let go, if it is watched and that is a value that can be seen.
    pub(crate) guarded: Option<u64>,
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Done {
    /// It, with what it has read and written, in short; not on which object.
    digest: u64,
    /// On which one.
    object: ObjectId,
    /// Nothing was done to it before, since the thread has been watched.
    is_new: bool,
}

impl Done {
    /// A round later than `before`, the same is done again: on the same object, or on a new one.
    fn repeats(&self, before: &Done) -> bool {
        self.digest == before.digest && (self.object == before.object || self.is_new)
    }

    /// On the same object.
    fn comes_back_to(&self, before: &Done) -> bool {
        self.object == before.object && self.object.is_some()
    }
}

/// What an operation does to the locks that its thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holding {
    AsBefore,
    OneMore,
    OneLess,
}

impl Holding {
    /// In the lowest bits of a digest.
    const MASK: u64 = 3;

    const fn by(action: Action, changes: bool) -> Holding {
        match action {
            Action::Lock => Holding::OneMore,
            Action::TryLock if changes => Holding::OneMore,
            Action::Unlock => Holding::OneLess,
            _ => Holding::AsBefore,
        }
    }

    const fn of(digest: u64) -> Holding {
        match digest & Holding::MASK {
            1 => Holding::OneMore,
            2 => Holding::OneLess,
            _ => Holding::AsBefore,
        }
    }
}

/// One operation with what it has read and written, or `None`: no loop that waits does this. `changes`: it has changed something.
fn digest(
    operation: Operation,
    changes: bool,
    place: Option<Place>,
    read: Option<u64>,
    written: Option<u64>,
) -> Option<u64> {
    let kind = match operation.action {
        Action::Load(_) => 0,
        Action::Store(_) => 1,
        Action::ReadModifyWrite(_) => 2,
        Action::CompareExchange { .. } => 3,
        Action::Fence(_) => 4,
        Action::CountUp | Action::CountDown | Action::CountLast | Action::CountRead | Action::CountUpdate => {
            5
        }
        Action::Unpark => 6,
        Action::Park { .. } => 7,
        Action::Lock => 9,
        Action::TryLock if changes => 10,
        // What the lock guards is what is written.
        Action::Unlock if written.is_some() => 11,
        // Not if it has got what it tried for: nobody sees what a message is, nor what other locks guard.
        Action::TryLock
        | Action::TryReadLock
        | Action::TryWriteLock
        | Action::TryReceive
        | Action::OnceCheck
            if !changes =>
        {
            8
        }
        _ => return None,
    };
    let mut hasher = DefaultHasher::new();
    (kind, place.map(Place::address), read, written).hash(&mut hasher);
    Some(hasher.finish() & !Holding::MASK | Holding::by(operation.action, changes) as u64)
}

impl Rounds {
    /// Of a new thread.
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.changes = 0;
        self.next_watch = FIRST_WATCH;
        self.watched = 0;
        self.guarded = None;
    }

    /// How many things the thread has changed.
    pub(super) const fn changes(&self) -> u32 {
        self.changes
    }

    /// The thread has changed something.
    #[inline(always)]
    pub(crate) fn note_change(&mut self) {
        self.changes += 1;
        if self.changes == self.next_watch {
            self.begin();
        }
    }

    /// The thread has changed much: perhaps it does the same again and again. It is watched from the next change on. (Not from
    /// now on: its present operation may not be looked at.)
    #[cold]
    fn begin(&mut self) {
        self.next_watch = self.next_watch.saturating_mul(2);
        if self.watched == 0 {
            self.begins_after = self.changes;
            self.watched = WATCH;
            self.period = 0;
            self.done.clear();
        }
    }

    /// It does something that no such loop does, or pauses by itself.
    pub(crate) fn stop(&mut self) {
        self.watched = 0;
    }

    /// The thread, which is watched, has done this. Whether it has just come round.
    pub(crate) fn note(
        &mut self,
        operation: Operation,
        changes: bool,
        place: Option<Place>,
        read: Option<u64>,
        written: Option<u64>,
    ) -> bool {
        let guarded = self.guarded.take();
        if self.changes == self.begins_after {
            return false;
        }
        let written = if operation.action == Action::Unlock { guarded } else { written };
        let Some(digest) = digest(operation, changes, place, read, written) else {
            self.stop();
            return false;
        };
        let object = operation.object;
        let is_new = !self.done.iter().any(|done| done.object == object);
        let done = Done { digest, object, is_new };
        if self.period == 0 {
            self.watched -= 1;
            self.done.push(done);
            return self.done.len().is_multiple_of(BETWEEN_LOOKS) && self.look();
        }
        let before = std::mem::replace(&mut self.done[self.at], done);
        self.comes_back |= done.comes_back_to(&before);
        self.at = (self.at + 1) % self.period;
        let is_over = self.at == 0;
        if !done.repeats(&before) || is_over && !std::mem::take(&mut self.comes_back) {
            self.stop();
            return false;
        }
        is_over
    }

    /// Whether what has been done is a loop; if it cannot be, the thread is not watched any longer.
    fn look(&mut self) -> bool {
        let count = self.done.len();
        let same = |length: usize, period: usize| {
            length + period <= count
                && (count - length..count).all(|i| self.done[i].repeats(&self.done[i - period]))
        };
        let Some(period) = (1..=MAX_PERIOD).find(|&period| same(BETWEEN_LOOKS, period)) else {
            if count >= BETWEEN_LOOKS + MAX_PERIOD {
                self.stop();
            }
            return false;
        };
        let enough = (MIN_ROUNDS * period).max(MIN_OPERATIONS);
        let comes_back = |i: usize| self.done[i].comes_back_to(&self.done[i - period]);
        if !same(enough - period, period) || !(count - period..count).any(comes_back) {
            return false;
        }
        // In the middle of a round it cannot be known any longer.
        self.comes_back = true;
        self.done.drain(..count - period);
        self.period = period;
        self.watched = WATCH;
        let pause = self.holds_least_after();
        self.done.rotate_left(pause);
        self.at = (period - pause) % period;
        self.at == 0
    }

    /// After so many operations of a round it holds as few locks as it ever does in it.
    fn holds_least_after(&self) -> usize {
        let (mut held, mut least, mut after) = (0_isize, 0, 0);
        for (index, done) in self.done.iter().enumerate() {
            held += match Holding::of(done.digest) {
                Holding::AsBefore => 0,
                Holding::OneMore => 1,
                Holding::OneLess => -1,
            };
            if held < least {
                (least, after) = (held, index + 1);
            }
        }
        after % self.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Ordering;

    fn rounds(values: impl IntoIterator<Item = u64>) -> (Rounds, Vec<usize>) {
        let mut rounds = Rounds::default();
        rounds.reset();
        (0..=FIRST_WATCH).for_each(|_| rounds.note_change());
        let operation = Operation::new(Action::ReadModifyWrite(Ordering::SeqCst), ObjectId::new(1));
        let mut came_round = Vec::new();
        for (index, value) in values.into_iter().enumerate() {
            if rounds.watched != 0 && rounds.note(operation, true, None, Some(value), Some(value + 1)) {
                came_round.push(index + 1);
            }
        }
        (rounds, came_round)
    }

    #[test]
    fn a_loop_is_known_after_eight_rounds_and_sixty_four_operations() {
        for (period, known) in [(1, 64), (5, 64), (8, 64), (9, 80), (32, 256)] {
            let (_, came_round) = rounds((0..300).map(|i| i % period));
            let expected: Vec<usize> = (known..=300).step_by(period as usize).collect();
            assert_eq!(came_round, expected, "{period}");
        }
    }

    /// Locks are taken and let go in each round, `skipped` operations after it was begun to watch: where it comes round.
    fn rounds_with_locks(skipped: usize, guarded: impl Fn(usize) -> Option<u64>) -> Vec<usize> {
        let mut rounds = Rounds::default();
        rounds.reset();
        (0..=FIRST_WATCH).for_each(|_| rounds.note_change());
        let round =
            [Action::Lock, Action::Load(Ordering::SeqCst), Action::Lock, Action::Unlock, Action::Unlock];
        let mut came_round = Vec::new();
        for index in 0..150 {
            let at = (index + skipped) % round.len();
            if rounds.watched == 0 {
                break;
            }
            if round[at] == Action::Unlock {
                rounds.guarded = guarded(index);
            }
            if rounds.note(Operation::new(round[at], ObjectId::new(1)), false, None, Some(at as u64), None) {
                came_round.push((index + 1 + skipped) % round.len());
            }
        }
        came_round
    }

    #[test]
    fn locks_are_let_go_where_it_comes_round() {
        for skipped in 0..5 {
            let came_round = rounds_with_locks(skipped, |_| Some(1));
            assert!(
                came_round.len() >= 14 && came_round.iter().all(|&at| at == 0),
                "{skipped}: {came_round:?}"
            );
            // What is guarded is not seen, or goes on.
            assert_eq!(rounds_with_locks(skipped, |_| None).len(), 0);
            assert_eq!(rounds_with_locks(skipped, |index| Some(index as u64)).len(), 0);
        }
    }

    #[test]
    fn what_goes_on_is_no_loop() {
        let (watch, came_round) = rounds(0..300);
        assert_eq!((watch.watched != 0, came_round.len()), (false, 0));
        // Counts in between.
        let (_, came_round) = rounds((0..300).map(|i| if i % 4 == 0 { i } else { 1 }));
        assert_eq!(came_round.len(), 0);
        // A loop that is too long to be known.
        let (_, came_round) = rounds((0..300).map(|i| i % 33));
        assert_eq!(came_round.len(), 0);
    }

    /// A round of three operations, each on this object.
    fn rounds_on(objects: impl Fn(usize) -> [usize; 3]) -> usize {
        let mut rounds = Rounds::default();
        rounds.reset();
        (0..=FIRST_WATCH).for_each(|_| rounds.note_change());
        let mut came_round = 0;
        for round in 0..80 {
            for (at, object) in objects(round).into_iter().enumerate() {
                let operation = Operation::new(Action::Store(Ordering::SeqCst), ObjectId::new(object));
                let is_watched = rounds.watched != 0;
                came_round +=
                    usize::from(is_watched && rounds.note(operation, true, None, Some(at as u64), None));
            }
        }
        came_round
    }

    #[test]
    fn going_through_objects_is_no_loop_that_waits() {
        let one = |_| [1, 1, 2];
        assert!(rounds_on(one) > 50);
        // Something is made in each round, and something else is looked at again.
        let known = rounds_on(|round| [1, 10 + 2 * round, 11 + 2 * round]);
        assert!(known > 50, "{known}");
        assert_eq!(rounds_on(|round| [3 * round, 3 * round + 1, 3 * round + 2]), 0);
        assert_eq!(rounds_on(|round| [round, round, round]), 0);
        // One after the other, and then from the beginning: a round of twelve operations.
        let four = rounds_on(|round| [round % 4, round % 4, round % 4]);
        assert!((10..20).contains(&four), "{four}");
        // It waits for the first, and then goes through others.
        assert!((30..60).contains(&rounds_on(|round| [if round < 60 { 1 } else { round }; 3])));
    }

    #[test]
    fn a_loop_that_is_left_is_not_watched_any_longer() {
        let (watch, came_round) = rounds((0..100).map(|i| i % 4).chain([7]).chain((0..100).map(|i| i % 4)));
        assert_eq!(came_round, (64..=100).step_by(4).collect::<Vec<_>>());
        assert_eq!(watch.watched, 0);
    }
}
