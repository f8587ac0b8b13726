//! The door for what is known by its address: data cells and reference counts have std's layout, and carry no handle. (For
//! atomics see `atomics`.)

use super::address_map::{GONE, Kind, alive, key, object};
use super::allocator::POISON;
use super::execution::Execution;
use super::objects::Counts;
use super::outsider::outside;
use super::perform::{enter, halt, perform};
use super::program_allocator;
use super::running::{Running, running};
use crate::program::{Granularity, Place};
use crate::trace::table::{in_program, short_type};
use crate::trace::{
    Action, Failure, FailureKind, MemoryEvent, MemoryEventKind, ObjectClass, ObjectId, Operation, RaceAccess,
    ThreadId,
};
use std::panic::Location;

/// Something has been freed since the operation was announced: ends the execution if it was its object's memory.
#[cold]
pub(super) fn check_freed(
    running: &Running,
    kind: Kind,
    address: *const (),
    type_name: &str,
    object: ObjectId,
    place: Place,
) {
    let freed = running.with(|e| {
        if e.giving_up {
            return false;
        }
        e.note_freed();
        let freed = e.map.get(key(address.addr(), kind)).is_some_and(|value| value & GONE != 0);
        if freed {
            e.used_after_free(object, type_name, address, place);
        }
        freed
    });
    if freed {
        halt(running);
    }
}

/// An access to a data cell: checks for races; a scheduling point first where the granularity or `on_race(Promote)`
/// says so. Call it right before the access. `false` outside an execution.
#[track_caller]
pub fn cell(address: *const (), size: usize, type_name: &'static str, action: Action) -> bool {
    let location = Location::caller();
    let Some(running) = running() else {
        outside(type_name, address, location);
        return false;
    };
    if size == 0 || running.quickly(|e| e.giving_up) {
        return true;
    }
    if program_allocator::holds(address.addr()) {
        return false;
    }
    let operation =
        running.with(|e| Operation::new(action, e.object_at(Kind::Cell, address, type_name, location)));
    if running.with(|e| e.end.is_some()) {
        halt(running);
        return true;
    }
    let point = running.with(|e| e.is_point(location));
    if point {
        enter(running, operation, location.into());
        check_freed(running, Kind::Cell, address, type_name, operation.object, location.into());
        if running.quickly(|e| e.giving_up) {
            return true;
        }
    }
    let stopped = running.with(|e| {
        e.threads[e.current].location = Some(location.into());
        // The access is a step like any other; a race is found in the state after it.
        if point {
            e.finish_cell(operation);
        } else {
            e.pass_cell(operation);
        }
        action != Action::CellAccess && e.check_cell(operation.object, action == Action::CellWrite)
    });
    if stopped {
        halt(running);
    }
    true
}

/// A bracketed access (`with`, `with_mut`) ends, or goes on: checks again if the thread has taken steps inside. Never a
/// scheduling point.
pub fn cell_end(address: *const (), action: Action) {
    check_again(address, |e, cell| e.check_cell(cell, action == Action::CellWrite));
}

/// A pointer to a cell goes, whose uses have been told: as [`cell_end`], but that a release right before does not count.
pub fn cell_pointer_end(address: *const (), action: Action) {
    check_again(address, |e, cell| e.pointer_goes(cell, action == Action::CellWrite));
}

fn check_again(address: *const (), check: impl FnOnce(&mut Execution, ObjectId) -> bool) {
    let Some(running) = running() else { return };
    let stopped = running.with(|e| match e.known_cell(address) {
        Some(cell) if !e.giving_up => check(e, cell),
        _ => false,
    });
    if stopped {
        halt(running);
    }
}

/// An operation on an `Arc`'s counts, keyed by its allocation. `strong`: what the strong count is right now, for
/// operations that change it by one; `None` for all others. `false` outside an execution.
#[track_caller]
pub fn count(address: *const (), type_name: &'static str, action: Action, strong: Option<usize>) -> bool {
    let location = Location::caller();
    let Some(running) = running() else {
        outside(type_name, address, location);
        return false;
    };
    let object = running.with(|e| {
        let object = e.object_at(Kind::Count, address, type_name, location);
        let me = e.current;
        e.threads[me].strong = strong.is_some();
        if let Some(strong) = strong {
            e.learn_strong_count(object, strong);
        }
        object
    });
    perform(running, Operation::new(action, object), location, strong.is_some());
    true
}

/// Does something with counts, if an operation on them has been performed in this execution.
fn with_known_count<R>(address: *const (), act: impl FnOnce(&mut Execution, ObjectId) -> R) -> Option<R> {
    running()?.with(|e| {
        let count = e.known_count(address)?;
        Some(act(e, count))
    })
}

/// The caller has just performed the `CountDown` that left no owner, or nothing that keeps the allocation: it has seen
/// everything that the others did.
pub fn count_last(address: *const (), counts: Counts) {
    let _ = with_known_count(address, |e, count| e.count_last(count, counts));
}

/// The operation that the caller has just performed acquires: a `CountUpdate` that succeeds (it becomes an owner, or is the last one), or a `Weak` that asks how
/// many there are.
pub fn count_acquired(address: *const (), counts: Counts) {
    let _ = with_known_count(address, |e, count| e.count_acquired(count, counts));
}

/// The caller has read the counts by a relaxed load: an acquire fence orders it after all who have let go.
pub fn count_met(address: *const (), counts: Counts) {
    let _ = with_known_count(address, |e, count| e.count_met(count, counts));
}

/// How many owners there are after the `CountUpdate` that the caller has just performed: only the program knows.
pub fn count_is(address: *const (), strong: usize) {
    let _ = with_known_count(address, |e, count| e.learn_strong_count(count, strong));
}

/// Whether an operation on these counts has been performed in this execution: somebody besides who has made them may know of them.
#[must_use]
pub fn count_is_known(address: *const ()) -> bool {
    with_known_count(address, |_, _| ()).is_some()
}

/// The caller has let go of the allocation by std's own doing, which releases.
pub fn count_left(address: *const (), counts: Counts) {
    let _ = with_known_count(address, |e, count| e.count_left(count, counts));
}

/// The last owner of a value begins to drop it. `pointer`: a name for that, told to [`value_gone`].
pub fn value_goes(address: *const (), pointer: *const ()) {
    if let Some(running) = running() {
        running.with(|e| {
            if let Some(count) = e.known_count(address) {
                e.going.push((pointer.addr(), count));
            }
        });
    }
}

/// An owner has gone. If it was the last, the value has been dropped by now, and its part in the allocation: that
/// releases. Not a step: std's own count went down in this very moment.
#[inline]
pub fn value_gone(pointer: *const ()) {
    if let Some(running) = running() {
        running.with(|e| {
            if !e.going.is_empty() {
                e.value_gone(pointer);
            }
        });
    }
}

impl Execution {
    fn known_count(&self, address: *const ()) -> Option<ObjectId> {
        self.map.get(key(address.addr(), Kind::Count)).and_then(alive)
    }

    #[cold]
    fn value_gone(&mut self, pointer: *const ()) {
        if let Some(at) = self.going.iter().rposition(|&(name, _)| name == pointer.addr()) {
            let (_, count) = self.going.swap_remove(at);
            self.count_left(count, Counts::Both);
        }
    }

    /// The object of this kind at an address; enters it if this is its first use.
    #[inline]
    fn object_at(
        &mut self,
        kind: Kind,
        address: *const (),
        type_name: &'static str,
        location: &'static Location<'static>,
    ) -> ObjectId {
        self.note_freed();
        match self.map.get(key(address.addr(), kind)) {
            Some(value) => alive(value).unwrap_or_else(|| {
                let object = object(value);
                self.used_after_free(object, type_name, address, location.into());
                object
            }),
            None => self.enter_at(kind, address, type_name, location.into()),
        }
    }

    #[cold]
    pub(super) fn enter_at(
        &mut self,
        kind: Kind,
        address: *const (),
        type_name: &'static str,
        place: Place,
    ) -> ObjectId {
        // An object that was freed before its first use: a byte tells almost always that this is not so.
        // SAFETY: the caller is about to use the object, or the header of the allocation it is in; memory that an
        // execution has freed is still mapped. The byte is looked at as it is, and only ever raises a suspicion.
        let suspect = unsafe { address.cast::<u8>().read_volatile() } == POISON;
        let gone = suspect && self.quarantine.holds(address.addr());
        let class = match kind {
            Kind::Atomic => ObjectClass::Atomic,
            Kind::Cell | Kind::Memory => ObjectClass::Cell,
            Kind::Count => ObjectClass::Count,
            Kind::Object => unreachable!("objects with a handle are entered by it"),
        };
        let object = self.register(class, type_name, address, Some(place));
        if class == ObjectClass::Cell {
            self.statics.keep_data(address);
        }
        if gone {
            self.used_after_free(object, type_name, address, place);
        } else {
            self.enter_in_map(address.addr(), kind, object);
        }
        object
    }

    /// An object is used whose memory has been freed.
    #[cold]
    pub(super) fn used_after_free(
        &mut self,
        object: ObjectId,
        type_name: &str,
        address: *const (),
        place: Place,
    ) {
        let type_name = short_type(type_name);
        let message = match self.ended_owner(address.addr()) {
            Some(owner) => {
                format!("{type_name} {object} is used after {owner} has ended, on whose stack it was")
            }
            None => format!("{type_name} {object} is used after its memory has been freed"),
        };
        self.fail_by_use(message, address, place, false);
    }

    /// Freed memory is accessed: in a replay the failure has the backtraces of both sides.
    #[cold]
    pub(super) fn fail_by_use(&mut self, message: String, address: *const (), place: Place, write: bool) {
        self.threads[self.current].location = Some(place);
        let mut failure = Failure::new(FailureKind::UseAfterFree, message);
        if self.observer.is_some()
            && let Some(freed) = self.how_freed(address.addr(), &mut failure)
        {
            let backtrace = self.backtrace();
            let mut used = RaceAccess::new(ThreadId::new(self.current), write);
            used.location = place.location().map(|place| in_program(place, &backtrace));
            used.backtrace = backtrace;
            failure.race = Some(Box::new([freed, used]));
        }
        self.fail(failure);
    }

    /// A replay: how this memory was freed; what else is known of its block goes to the failure.
    fn how_freed(&mut self, address: usize, failure: &mut Failure) -> Option<RaceAccess> {
        if let Some(owner) = self.ended_owner(address) {
            return Some(RaceAccess { frees: true, ends: true, ..RaceAccess::new(owner, true) });
        }
        let mut history = self.ledger.history(address);
        let at = history.iter().position(|event| event.kind == MemoryEventKind::Freed)?;
        let MemoryEvent { thread, location, backtrace, .. } = history.swap_remove(at);
        history.truncate(at);
        failure.memory = history;
        Some(RaceAccess { frees: true, location, backtrace, ..RaceAccess::new(thread, true) })
    }

    fn known_cell(&self, address: *const ()) -> Option<ObjectId> {
        self.map.get(key(address.addr(), Kind::Cell)).and_then(alive)
    }

    /// Whether a data access at this place of the program is a scheduling point.
    #[inline]
    fn is_point(&self, location: &'static Location<'static>) -> bool {
        self.settings.granularity == Granularity::EveryAccess
            || (self.settings.promote && self.promoted.contains(&std::ptr::from_ref(location).addr()))
    }

    /// A data access that is no scheduling point: part of the step before.
    fn pass_cell(&mut self, operation: Operation) {
        if operation.action == Action::CellWrite {
            let me = self.current;
            self.threads[me].note_change();
        }
        if self.is_written_down() {
            self.accesses.clear();
            self.observe_step(operation, None, None, None);
        }
    }
}
