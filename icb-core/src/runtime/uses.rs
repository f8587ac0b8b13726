//! Who has used each object, and whether the end of the memory that it lies in comes after that. A lock, an atomic variable or a
//! cell may be freed only by whoever knows that nobody uses it any more: where nothing orders the free after a use, the use comes
//! after the free in another execution, perhaps in one with more preemptions.

use super::allocator::aside;
use super::execution::Execution;
use super::objects::{Object, State};
use crate::clock::VectorClock;
use crate::memory::happens_before::ThreadClock;
use crate::memory::race::Earlier;
use crate::program::Place;
use crate::trace::{Mode, ObjectId, Operation, RaceAccess, ThreadId, table};
use std::collections::HashMap;

/// Where each thread has used each object last, by reading and by writing; written down in a replay only.
#[derive(Debug, Default)]
pub(super) struct Uses(HashMap<(ObjectId, usize, bool), Use>);

#[derive(Debug)]
struct Use {
    place: Option<Place>,
    addresses: Vec<usize>,
    /// Steps taken before.
    after_steps: u64,
}

impl Uses {
    /// An execution begins.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Object {
    /// The thread, which has seen this so far, uses the object. To be said before it publishes anything by that.
    #[inline(always)]
    pub(super) fn note_use(&mut self, thread: usize, clock: &ThreadClock) {
        self.uses.set_as_in(thread, &clock.clock);
    }

    /// A use that does not happen before what has been seen, of an object that is part of the program's own memory. Of a thread, a
    /// channel or a reference count the memory is the mirrored library's.
    fn unordered_use(&self, seen: &VectorClock) -> Option<Earlier> {
        match &self.state {
            State::Cell(cell) => cell.unordered(seen),
            State::Channel(_) | State::Count(_) => None,
            _ => self.uses.first_beyond(seen).map(|thread| Earlier { thread, write: false }),
        }
    }

    /// Whether it is a part of the program's own memory, with a handle.
    pub(super) fn is_of_program(&self) -> bool {
        matches!(
            self.state,
            State::Mutex { .. }
                | State::RwLock { .. }
                | State::Condvar
                | State::Barrier { .. }
                | State::Once(_)
        )
    }

    pub(super) fn in_words(&self) -> &'static str {
        match self.state {
            State::Cell(_) => "a cell",
            State::Mutex { .. } => "a Mutex",
            State::RwLock { .. } => "an RwLock",
            State::Condvar => "a Condvar",
            State::Barrier { .. } => "a Barrier",
            State::Once(_) => "a Once",
            _ => "an atomic variable",
        }
    }
}

impl Execution {
    /// The running thread is about to do this to its objects.
    #[inline]
    pub(super) fn note_uses(&mut self, operation: Operation) {
        let me = self.current;
        for object in [operation.object, operation.other] {
            if object.is_some() {
                self.objects[object.index()].note_use(me, &self.threads.mine().clock);
            }
        }
    }

    /// A replay: the running thread takes a step here.
    pub(super) fn remember_uses(&mut self, addresses: &[usize]) {
        let me = self.current;
        let place = self.threads[me].location;
        for access in &self.accesses {
            let write = access.mode != Mode::Read;
            let (addresses, after_steps) = (addresses.to_vec(), self.step_count);
            self.uses.0.insert((access.object, me, write), Use { place, addresses, after_steps });
        }
    }

    /// The running thread has freed the memory of an object, a block that starts here.
    #[inline]
    pub(super) fn check_free(&mut self, object: ObjectId, block: usize) {
        let seen = &self.threads[self.current].clock.clock;
        if let Some(earlier) = self.objects[object.index()].unordered_use(seen) {
            self.freed_too_early(object, block, earlier);
        }
    }

    #[cold]
    fn freed_too_early(&mut self, object: ObjectId, block: usize, earlier: Earlier) {
        if self.end.is_some() || self.giving_up {
            return;
        }
        let used = self.objects[object.index()].in_words();
        let first = self.earlier_use(object, earlier);
        self.fail_by_free(first, &format!("{used} in it has been used"), "use", block);
    }

    pub(super) fn earlier_use(&mut self, object: ObjectId, earlier: Earlier) -> RaceAccess {
        let Earlier { thread, write } = earlier;
        if let State::Cell(cell) = &self.objects[object.index()].state {
            return cell.access(thread, write);
        }
        let of = |write| self.uses.0.get(&(object, thread, write)).map(|known| (known.after_steps, write));
        let last = of(true).max(of(false)).map_or(write, |(_, write)| write);
        self.use_of(object, thread, last)
    }

    /// The last use of an object by a thread that has, or has not, written.
    pub(super) fn use_of(&mut self, object: ObjectId, thread: usize, write: bool) -> RaceAccess {
        let mut access = RaceAccess::new(ThreadId::new(thread), write);
        if let Some(known) = self.uses.0.get(&(object, thread, write)) {
            access.after_steps = Some(known.after_steps);
            access.backtrace = aside(|| self.resolver.frames(&known.addresses));
            // A lock is let go of inside the mirrored library.
            let place = table::place_in_program(&access.backtrace).cloned();
            access.location = place.or_else(|| known.place.and_then(Place::location));
        }
        access
    }
}
