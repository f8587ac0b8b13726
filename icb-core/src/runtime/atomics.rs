//! The door for atomic variables, which have std's layout and are known by their address. The way that nearly every step of
//! nearly every program goes, so the short way stands apart: the variable is known, nothing is to be looked at more closely, and
//! the thread goes on by itself. Whatever needs more is done by functions that the short way ends with.

use super::address_map::{ASIDE, Kind, alive, key, object};
use super::addressed::check_freed;
use super::execution::{Execution, Next};
use super::outsider::outside;
use super::perform::suspend;
use super::program_allocator;
use super::running::{Running, running, running_at_all};
use super::threads::MAX_SPURIOUS_FAILURES;
use crate::program::Place;
use crate::trace::{Action, Mode, ObjectId, Operation, Ordering};
use std::panic::Location;

/// What there is to know of the type of an atomic variable.
#[derive(Debug)]
pub struct AtomicType {
    /// Its size in bytes: 1, 2, 4 or 8 (16 where std has it).
    pub size: usize,
    /// Its name, for the report.
    pub name: &'static str,
}

/// An atomic variable, by address.
#[derive(Clone, Copy, Debug)]
pub struct AtomicRef {
    /// Its address.
    pub address: *const (),
    /// Its type.
    pub of: &'static AtomicType,
}

/// An atomic operation between decision and effect. The caller reads and writes the variable, then tells of it. No other
/// thread runs in between.
#[must_use = "an atomic step must be finished"]
pub struct AtomicStep {
    running: &'static Running,
    object: ObjectId,
}

impl std::fmt::Debug for AtomicStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AtomicStep").field(&self.object).finish()
    }
}

impl AtomicStep {
    /// Whether this `compare_exchange_weak` is to fail although the values match.
    #[must_use]
    pub fn fails_spuriously(&self) -> bool {
        self.running.with(|e| {
            let operation = e.pending[e.current];
            let weak = matches!(operation.action, Action::CompareExchange { weak: true, .. });
            let spurious_failures = e.threads.mine().spurious_failures;
            if !weak || !e.settings.spurious || e.giving_up || spurious_failures >= MAX_SPURIOUS_FAILURES {
                return false;
            }
            let fails = e.branch(operation, 2, true) == 1;
            e.threads.mine().spurious_failures += u32::from(fails);
            fails
        })
    }

    /// Completes a load with this ordering, which has read these bits.
    #[inline(never)]
    pub fn loaded(self, order: Ordering, read: u64) {
        if !self.running.quickly(|e| !e.attention && e.finish_load(self.object, order)) {
            self.loaded_attentively(order, read);
        }
    }

    /// Completes an exchange that [`fails_spuriously`](Self::fails_spuriously), which has read these bits: what it waits for is there already.
    #[cold]
    pub fn failed_spuriously(self, order: Ordering, read: u64) {
        let running = self.running;
        self.loaded(order, read);
        running.with(|e| {
            if !e.giving_up {
                e.threads.mine().note_spurious_failure();
            }
        });
    }

    #[inline(never)]
    fn loaded_attentively(self, order: Ordering, read: u64) {
        self.finish_telling(Mode::Read, |e, object| e.finish_load(object, order), Some(read), None);
    }

    /// Completes a store with this ordering, which has written these bits.
    #[inline(never)]
    pub fn stored(self, order: Ordering, written: u64) {
        if !self.running.quickly(|e| !e.attention && e.finish_store(self.object, order)) {
            self.stored_attentively(order, written);
        }
    }

    #[inline(never)]
    fn stored_attentively(self, order: Ordering, written: u64) {
        self.finish_telling(Mode::Write, |e, object| e.finish_store(object, order), None, Some(written));
    }

    /// Completes a read-modify-write with this ordering, which has read and written these bits.
    #[inline(never)]
    pub fn modified(self, order: Ordering, read: u64, written: u64) {
        let changes = read != written;
        if !(changes && self.running.quickly(|e| !e.attention && e.finish_change(self.object, order))) {
            self.modified_attentively(order, read, written);
        }
    }

    #[inline(never)]
    fn modified_attentively(self, order: Ordering, read: u64, written: u64) {
        let shortly = |e: &mut Execution, object| read != written && e.finish_change(object, order);
        self.finish_telling(Mode::Write, shortly, Some(read), Some(written));
    }

    /// Completes a step where it is not as usual, or `shortly` has refused: by that and by telling the chooser, if that is all that is
    /// to be done beside.
    #[inline(always)]
    fn finish_telling(
        self,
        mode: Mode,
        shortly: impl FnOnce(&mut Execution, ObjectId) -> bool,
        read: Option<u64>,
        written: Option<u64>,
    ) {
        let short = self.running.with(|e| {
            let done = e.attention && !e.closely && shortly(e, self.object);
            if done {
                e.tell_announced(mode);
            }
            done
        });
        if !short {
            self.finish(read, written);
        }
    }

    /// Completes any step: the bits read, if the operation reads, and the bits written, if it wrote.
    #[inline(never)]
    pub fn finish(self, read: Option<u64>, written: Option<u64>) {
        self.running.with(|e| {
            if !(e.attention && e.giving_up) {
                if e.finishes_apart {
                    e.finish_apart(self.object, read, written);
                } else {
                    e.finish_atomic(self.object, read, written);
                }
            }
        });
    }
}

/// Announces an atomic operation and lets the scheduler decide. `None` outside an execution, and where the variable is the global allocator's. (An exchange: see
/// [`atomic_exchange`].)
#[track_caller]
#[inline]
pub fn atomic(target: AtomicRef, action: Action) -> Option<AtomicStep> {
    let Some(running) = running_at_all() else {
        outside(target.of.name, target.address, Location::caller());
        return None;
    };
    running.note_registers();
    let object = enter(running, target, action, Location::caller());
    (object != ObjectId::NONE).then_some(AtomicStep { running, object })
}

/// [`atomic`] for an exchange that succeeds with these bits.
#[track_caller]
#[inline]
pub fn atomic_exchange(target: AtomicRef, action: Action, expected: u64) -> Option<AtomicStep> {
    if let Some(running) = running_at_all() {
        running.expected.set(expected);
    }
    atomic(target, action)
}

/// Announces an atomic operation, and returns when its thread has been chosen to take it: the variable's object, or none if it is the global
/// allocator's, which the engine uses too. No part of it that
/// may wait returns to another one: where a thread goes on after a switch, the processor expects no return.
#[inline(never)]
fn enter(
    running: &'static Running,
    target: AtomicRef,
    action: Action,
    place: &'static Location<'static>,
) -> ObjectId {
    if running.at_work.get() {
        return ObjectId::NONE;
    }
    match running.quickly(|e| e.known_atomic(target)) {
        Some(object) => enter_known(running, target, object, action, place.into()),
        None => enter_unknown(running, target, action, place.into()),
    }
}

/// The variable has not been used before, or something has been freed.
#[inline(never)]
fn enter_unknown(running: &'static Running, target: AtomicRef, action: Action, place: Place) -> ObjectId {
    if program_allocator::holds(target.address.addr()) {
        return ObjectId::NONE;
    }
    let object = running.with(|e| e.atomic_object(target, place));
    if running.quickly(|e| e.mixed.is_on) {
        return enter_checked(running, target, object, action, place);
    }
    enter_known(running, target, object, action, place)
}

/// Accesses to plain memory are checked, and the variable may be some.
#[inline(never)]
fn enter_checked(
    running: &'static Running,
    target: AtomicRef,
    object: ObjectId,
    action: Action,
    place: Place,
) -> ObjectId {
    running.with(|e| e.look_at_variable(target, object));
    let object = enter_known(running, target, object, action, place);
    running.with(|e| e.begin_long_way(object));
    object
}

#[inline(always)]
fn enter_known(
    running: &'static Running,
    target: AtomicRef,
    object: ObjectId,
    action: Action,
    place: Place,
) -> ObjectId {
    // SAFETY: announcing leads neither back here nor to another coroutine, and allocates nothing.
    let e = unsafe { running.get() };
    match e.enter_atomic(Operation::new(action, object), place) {
        Way::Stay => object,
        Way::Other(next) => enter_after(running, target, next),
        Way::Ask => enter_by_choice(running, target),
        Way::Spin => enter_spinning(running, target),
        Way::Attentive => enter_attentively(running, target, object, action, place),
    }
}

/// Where loads may read stale values, chooses which one the step reads. `expected`: the bits with which an exchange succeeds.
#[cold]
fn choose_value(running: &Running, target: AtomicRef, expected: Option<u64>) {
    running.with(|e| {
        if !e.giving_up {
            e.choose_value(target, expected);
        }
    });
}

/// What comes after an operation has been announced.
enum Way {
    /// The thread goes on.
    Stay,
    /// Another thread takes its next step.
    Other(u32),
    /// That is not known beforehand.
    Ask,
    /// It may be spinning.
    Spin,
    /// The execution wants attention: nothing has been announced.
    Attentive,
}

/// Another thread takes the next step.
#[inline(never)]
fn enter_after(running: &'static Running, target: AtomicRef, next: u32) -> ObjectId {
    let me = running.quickly(|e| e.current);
    match running.quickly(|e| e.take_foreseen(next as usize)) {
        Next::Stay => announced(running, me),
        Next::Suspend => enter_later(running, target, me),
    }
}

#[inline(never)]
fn enter_by_choice(running: &'static Running, target: AtomicRef) -> ObjectId {
    let me = running.quickly(|e| e.current);
    match running.with(Execution::decide_among) {
        Next::Stay => announced(running, me),
        Next::Suspend => enter_later(running, target, me),
    }
}

#[cold]
fn enter_spinning(running: &'static Running, target: AtomicRef) -> ObjectId {
    let me = running.quickly(|e| e.current);
    let next = running.with(|e| {
        e.recognise_spinning();
        e.decide()
    });
    match next {
        Next::Stay => announced(running, me),
        Next::Suspend => enter_later(running, target, me),
    }
}

/// The thread `me`, which is the one that calls, waits for its turn with its operation.
#[inline(always)]
fn enter_later(running: &'static Running, target: AtomicRef, me: usize) -> ObjectId {
    let freed = running.quickly(|e| e.quarantine.news());
    suspend(running, me);
    if running.quickly(|e| e.quarantine.news()) != freed {
        check_freed_atomic(running, target);
    }
    announced(running, me)
}

/// The object of the operation that the thread has announced: it is the running one. (As if it were not known before: whoever
/// calls last returns what this returns.)
#[inline(always)]
fn announced(running: &'static Running, me: usize) -> ObjectId {
    running.quickly(|e| e.pending[me].object)
}

/// The way of any other operation.
#[inline(never)]
fn enter_attentively(
    running: &'static Running,
    target: AtomicRef,
    object: ObjectId,
    action: Action,
    place: Place,
) -> ObjectId {
    let operation = Operation::new(action, object);
    if running.with(|e| e.coasting.is_on && e.coast_unannounced(operation, place)) {
        return object;
    }
    if running.quickly(|e| e.wants_more) {
        return enter_watched(running, target, object, action, place);
    }
    enter_told(running, target, operation, place)
}

/// The way of an operation of which the chooser is told, and nobody wants to know more.
#[inline(never)]
fn enter_told(running: &'static Running, target: AtomicRef, operation: Operation, place: Place) -> ObjectId {
    let me = running.quickly(|e| e.current);
    match running.with(|e| e.enter_telling(operation, place)) {
        Next::Stay => announced(running, me),
        Next::Suspend => enter_later(running, target, me),
    }
}

/// The way of any operation of which somebody wants to know more than the chooser.
#[inline(never)]
fn enter_watched(
    running: &'static Running,
    target: AtomicRef,
    object: ObjectId,
    action: Action,
    place: Place,
) -> ObjectId {
    let weak = running.with(|e| e.settings.weak_memory);
    let expected = matches!(action, Action::CompareExchange { .. }).then(|| running.expected.get());
    let operation = match weak {
        true => running.with(|e| e.weak_operation(action, object)),
        false => Operation::new(action, object),
    };
    let freed = running.quickly(|e| e.quarantine.news());
    super::perform::enter(running, operation, place);
    if running.quickly(|e| e.quarantine.news()) != freed {
        check_freed(running, Kind::Atomic, target.address, target.of.name, object, place);
    }
    if weak {
        choose_value(running, target, expected);
    }
    announced(running, running.quickly(|e| e.current))
}

/// Something has been freed while the thread waited.
#[cold]
fn check_freed_atomic(running: &Running, target: AtomicRef) {
    let (operation, place) = running.with(|e| (e.pending[e.current], e.threads.mine().location));
    if let Some(place) = place {
        check_freed(running, Kind::Atomic, target.address, target.of.name, operation.object, place);
    }
}

/// `atomic::fence`. `false` outside an execution.
#[track_caller]
pub fn fence(order: Ordering) -> bool {
    let Some(running) = running() else { return false };
    let location = Location::caller();
    if order == Ordering::SeqCst && running.with(|e| e.settings.weak_memory) {
        ordered_fence(running, location.into());
        return true;
    }
    running.with(|e| {
        if !e.giving_up {
            let operation = Operation::new(Action::Fence(order), ObjectId::NONE);
            e.threads.mine().location = Some(location.into());
            e.take_undecided();
            e.finish_fence(operation, order);
        }
    });
    true
}

/// If what the thread has done last is a SeqCst exchange, or the like, that was a SeqCst fence as well: the compiler has been told so, and the processor is one where it is. Only
/// where loads may read stale values: else it makes no difference.
#[track_caller]
pub fn fence_by_exchange() {
    let Some(running) = running() else { return };
    let exchanges = |action| {
        matches!(
            action,
            Action::ReadModifyWrite(Ordering::SeqCst)
                | Action::CompareExchange { success: Ordering::SeqCst, .. }
        )
    };
    if running.with(|e| e.settings.weak_memory && !e.giving_up && exchanges(e.pending[e.current].action)) {
        ordered_fence(running, Location::caller().into());
    }
}

/// A SeqCst fence, where loads may read stale values: what they may read depends on the order of such fences.
#[cold]
fn ordered_fence(running: &Running, place: Place) {
    let operation = running.with(|e| Operation::new(Action::Fence(Ordering::SeqCst), e.weak.order_object));
    super::perform::enter(running, operation, place);
    running.with(|e| {
        if !e.giving_up {
            e.finish_ordered_fence(operation);
        }
    });
}

impl Execution {
    /// The variable's object, if it is known and nothing has been freed since the last operation.
    #[inline(always)]
    fn known_atomic(&self, target: AtomicRef) -> Option<ObjectId> {
        if self.quarantine.has_news() {
            return None;
        }
        let object = self.map.get_soon(key(target.address.addr(), Kind::Atomic))?;
        (object < ASIDE).then(|| ObjectId::new(object as usize))
    }

    fn atomic_object(&mut self, target: AtomicRef, place: Place) -> ObjectId {
        self.note_freed();
        match self.map.get(key(target.address.addr(), Kind::Atomic)) {
            Some(value) => alive(value).unwrap_or_else(|| self.gone_atomic(target, object(value), place)),
            None => self.first_atomic_use(target, place),
        }
    }

    #[cold]
    fn gone_atomic(&mut self, target: AtomicRef, object: ObjectId, place: Place) -> ObjectId {
        self.used_after_free(object, target.of.name, target.address, place);
        object
    }

    #[cold]
    fn first_atomic_use(&mut self, target: AtomicRef, place: Place) -> ObjectId {
        let object = self.enter_at(Kind::Atomic, target.address, target.of.name, place);
        if self.mixed.is_on && self.end.is_none() {
            self.map.insert(key(target.address.addr(), Kind::Atomic), object.index() as u32 | ASIDE);
        }
        if super::image::contains(target.address) {
            self.statics.keep_atomic(target.address, target.of.size);
        }
        object
    }

    /// Announces an atomic operation where the chooser is told of every step and that is all that is not as usual, and asks who takes
    /// the next one.
    #[inline]
    fn enter_telling(&mut self, operation: Operation, place: Place) -> Next {
        self.announce(operation, place);
        if !matches!(operation.action, Action::Store(_)) {
            self.recognise_spinning();
        }
        self.decide_telling()
    }

    /// Announces an atomic operation, which is always ready, and sees who takes the next step.
    #[inline(always)]
    fn enter_atomic(&mut self, operation: Operation, place: Place) -> Way {
        if self.attention {
            return Way::Attentive;
        }
        self.pending[self.current] = operation;
        let thread = self.threads.mine();
        thread.location = Some(place);
        if !matches!(operation.action, Action::Store(_)) && thread.may_spin() {
            return Way::Spin;
        }
        match self.foresee(place.address()) {
            Some(next) if self.goes_on(next) => {
                self.take_again(next);
                Way::Stay
            }
            Some(next) => Way::Other(next as u32),
            None => Way::Ask,
        }
    }
}
