//! Data cells: checked for races at every access; scheduling points only where the granularity or a promotion says
//! so.

use crate::clock::VectorClock;
use crate::memory::race::{DataClock, Earlier};
use crate::program::Place;
use crate::runtime::execution::Execution;
use crate::runtime::memory_troubles::verb;
use crate::trace::{Access, Action, Frame, Mode, ObjectId, Operation, RaceAccess, SourceLocation, ThreadId};

/// State of a cell.
#[derive(Debug, Default)]
pub(crate) struct CellState {
    pub(super) clock: DataClock,
    /// In a replay: the latest accesses by (thread, write), for the report.
    seen: Vec<Seen>,
    /// With `on_race(Promote)`: places of the program that access it.
    places: Vec<Place>,
}

#[derive(Debug)]
struct Seen {
    thread: usize,
    write: bool,
    location: Option<SourceLocation>,
    frames: Vec<Frame>,
}

impl CellState {
    /// An access that does not happen before what has been seen.
    pub(in crate::runtime) fn unordered(&self, seen: &VectorClock) -> Option<Earlier> {
        self.clock.unordered(seen)
    }

    /// An access, with what a replay knows of it.
    pub(in crate::runtime) fn access(&self, thread: usize, write: bool) -> RaceAccess {
        let mut access = RaceAccess::new(ThreadId::new(thread), write);
        if let Some(seen) = self.seen.iter().rfind(|seen| (seen.thread, seen.write) == (thread, write)) {
            access.location = seen.location.clone();
            access.backtrace = seen.frames.clone();
        }
        access
    }

    pub(super) fn clear(&mut self) {
        self.clock.clear();
        self.seen.clear();
        self.places.clear();
    }
}

impl Execution {
    /// Checks an access of the running thread and records it. `Some` tells the racing access before it.
    pub(in crate::runtime) fn check_cell(&mut self, cell: ObjectId, write: bool) -> bool {
        let me = self.current;
        let clock = &self.threads[me].clock.clock;
        let data = self.objects[cell.index()].state.data();
        let race = if write { data.write(me, clock) } else { data.read(me, clock) };
        if self.observer.is_some() {
            self.remember_access(cell, write);
        }
        if self.settings.promote {
            self.remember_place(cell);
        }
        let Some(earlier) = race else { return false };
        if self.settings.promote {
            self.promote(cell);
            return self.promotion;
        }
        let (first, second) =
            (self.race_access(cell, earlier.thread, earlier.write), self.race_access(cell, me, write));
        let words = [verb(&first), verb(&second)];
        self.fail_by_unordered([first, second], words, None);
        true
    }

    /// A pointer to the cell goes, and was not used since the access of the running thread that was told last. If the thread's last
    /// step was a release, it may just as well have gone right before that: nobody runs in between.
    pub(in crate::runtime) fn pointer_goes(&mut self, cell: ObjectId, write: bool) -> bool {
        let me = self.current;
        let epoch = self.threads[me].clock.clock.epoch(me);
        let released = match self.pending[me].action {
            Action::Store(order) | Action::ReadModifyWrite(order) => order.releases(),
            Action::Unlock | Action::ReadUnlock | Action::WriteUnlock | Action::Unpark => true,
            _ => false,
        };
        if !released || self.objects[cell.index()].state.data().is_from(epoch) {
            return self.check_cell(cell, write);
        }
        self.threads[me].clock.clock.set(me, epoch.time - 1);
        let stopped = self.check_cell(cell, write);
        self.threads[me].clock.clock.set(me, epoch.time);
        stopped
    }

    fn remember_access(&mut self, cell: ObjectId, write: bool) {
        let me = self.current;
        let location = self.threads[me].location.and_then(Place::location);
        let frames = self.backtrace();
        let super::State::Cell(state) = &mut self.objects[cell.index()].state else { return };
        state.seen.retain(|seen| (seen.thread, seen.write) != (me, write));
        state.seen.push(Seen { thread: me, write, location, frames });
    }

    fn remember_place(&mut self, cell: ObjectId) {
        let place = self.threads[self.current].location;
        if let (super::State::Cell(state), Some(place)) = (&mut self.objects[cell.index()].state, place)
            && !state.places.contains(&place)
        {
            state.places.push(place);
        }
    }

    fn race_access(&self, cell: ObjectId, thread: usize, write: bool) -> RaceAccess {
        match &self.objects[cell.index()].state {
            super::State::Cell(state) => state.access(thread, write),
            _ => RaceAccess::new(ThreadId::new(thread), write),
        }
    }

    /// The accesses at this place of the program become scheduling points; the search begins anew if that is news.
    fn promote(&mut self, cell: ObjectId) {
        let mut news = false;
        if let super::State::Cell(state) = &self.objects[cell.index()].state {
            for place in &state.places {
                news |= self.promoted.insert(place.address());
            }
        }
        self.begins_anew(news);
    }

    /// The step of an access that is a scheduling point.
    pub(in crate::runtime) fn finish_cell(&mut self, operation: Operation) {
        let mode = if operation.action == Action::CellRead { Mode::Read } else { Mode::Write };
        if mode == Mode::Write {
            self.note_change(operation.object);
        } else {
            self.note_read(operation.object);
        }
        self.finish_single(operation, Access { object: operation.object, mode }, None, None, None);
    }
}
