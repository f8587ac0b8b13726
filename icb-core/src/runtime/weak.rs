//! Stale values of atomic variables, where they are asked for. A load, and an exchange that fails, may read an older value than the
//! newest at a cost of 1; which ones it may read is for `memory::history` to say. Nothing of this is on the way of an operation
//! where stale values are not asked for.
//!
//! The mirrored type reads the program's memory between the decision and the effect of its step. So a stale value is put there when it
//! has been chosen, and the newest is put back before anything else runs.
//!
//! Variables that were written without the runtime (`get_mut`, `into_inner`, memory that is used again) were so by somebody who was alone
//! with them: where memory does not hold the newest value, nothing but what it holds can be read.

use super::atomics::AtomicRef;
use super::execution::Execution;
use crate::memory::history::{History, Store, TotalOrder, Value};
use crate::program::Place;
use crate::trace::{
    Action, Mode, ObjectClass, ObjectId, Operation, Ordering, STALE, SourceLocation, ThreadId,
};
use std::mem::MaybeUninit;

/// Stale values that a thread may read of one variable in a row: more would only repeat what a loop around them does, for ever.
const MAX_STALE_VALUES: u32 = 3;

/// What there is to know of the variables of an execution, where loads may read stale values.
#[derive(Debug)]
pub(super) struct WeakMemory {
    /// By object.
    histories: Vec<History>,
    order: TotalOrder,
    /// The total order of SeqCst operations, as an object.
    pub(super) order_object: ObjectId,
    /// The step that is being taken.
    step: Option<Step>,
    /// A load could have read a stale value, or could have if it had come after a store that nothing orders before or after it.
    pub(super) makes_a_difference: bool,
}

/// A step on a variable between decision and effect.
#[derive(Clone, Copy, Debug)]
struct Step {
    target: AtomicRef,
    /// Of the stores the one that is read, if it is not the newest.
    stale: Option<usize>,
}

impl WeakMemory {
    pub(super) fn new() -> Self {
        WeakMemory {
            histories: Vec::new(),
            order: TotalOrder::default(),
            order_object: ObjectId::NONE,
            step: None,
            makes_a_difference: false,
        }
    }
}

/// Whether the action is part of the total order of SeqCst operations, or may be.
fn may_be_ordered(action: Action) -> bool {
    let orders = match action {
        Action::Load(order) | Action::Store(order) | Action::ReadModifyWrite(order) => [order, order],
        Action::CompareExchange { success, failure, .. } => [success, failure],
        _ => return false,
    };
    orders.contains(&Ordering::SeqCst)
}

impl Execution {
    /// An execution begins.
    pub(super) fn begin_weakly(&mut self) {
        self.weak.histories.iter_mut().for_each(History::clear);
        self.weak.order.clear();
        self.weak.step = None;
        self.weak.makes_a_difference = false;
        self.weak.order_object = self.register(ObjectClass::Atomic, "SeqCst order", std::ptr::null(), None);
    }

    /// An operation on a variable as it is announced.
    pub(super) fn weak_operation(&self, action: Action, object: ObjectId) -> Operation {
        if may_be_ordered(action) {
            return Operation::with_other(action, object, self.weak.order_object);
        }
        Operation::new(action, object)
    }

    /// The running thread is about to perform its pending operation: decides which value it reads. `expected`: the value with which
    /// an exchange would succeed.
    #[inline(never)]
    pub(super) fn choose_value(&mut self, target: AtomicRef, expected: Option<u64>) {
        let me = self.current;
        let operation = self.pending[me];
        self.weak.step = Some(Step { target, stale: None });
        let Some(newest) = read(target) else { return };
        let object = operation.object.index();
        if self.weak.histories.len() <= object {
            self.weak.histories.resize_with(object + 1, History::default);
        }
        let history = &mut self.weak.histories[object];
        if !history.holds(target.of.size, newest.bits) {
            history.collapse(target.of.size, newest, self.objects[object].version);
        }
        let (order, refused) = match operation.action {
            Action::Load(order) => (order, None),
            Action::CompareExchange { failure, .. } => (failure, expected),
            _ => return,
        };
        if history.stale_in_a_row(me) >= MAX_STALE_VALUES || self.threads[me].unwinding {
            return;
        }
        let clock = &self.threads[me].clock.clock;
        let oldest = history.oldest(clock, order == Ordering::SeqCst, &self.weak.order);
        let may_be_read = |index: &usize| Some(history.store(*index).value.bits) != refused;
        let stale: Vec<usize> = (oldest..history.len() - 1).rev().filter(may_be_read).collect();
        if stale.is_empty() {
            return;
        }
        self.weak.makes_a_difference = true;
        let outcome = self.branch(operation, stale.len() as u32 + 1, true);
        if let Some(&index) = (outcome as usize).checked_sub(1).and_then(|outcome| stale.get(outcome)) {
            write(target, self.weak.histories[object].store(index).value);
            self.weak.step = Some(Step { target, stale: Some(index) });
        }
    }

    /// Completes an atomic step: the bits read and written tell what it did.
    #[cold]
    #[inline(never)]
    pub(super) fn finish_weakly(&mut self, id: ObjectId, read_bits: Option<u64>, written: Option<u64>) {
        let me = self.current;
        let operation = self.pending[me];
        let Some(Step { target, stale }) = self.weak.step.take() else { return };
        let history = &mut self.weak.histories[id.index()];
        if stale.is_some() {
            write(target, history.store(history.len() - 1).value);
        }
        let (order, failed) = match operation.action {
            Action::Load(order) | Action::Store(order) | Action::ReadModifyWrite(order) => (order, false),
            Action::CompareExchange { success, failure, .. } => match written {
                Some(_) => (success, false),
                None => (failure, true),
            },
            _ => return,
        };
        let object = &mut self.objects[id.index()];
        let thread = self.threads.mine();
        let epoch = thread.clock.clock.epoch(me);
        object.note_use(me, &thread.clock);
        let position = (order == Ordering::SeqCst).then(|| self.weak.order.advance());
        if read_bits.is_some() {
            let sync = stale.map_or(&object.sync, |index| &history.store(index).sync);
            thread.clock.load(sync, order);
        }
        match operation.action {
            Action::Store(_) => thread.clock.store(me, &mut object.sync, order),
            _ if written.is_some() => thread.clock.continue_sequence(me, &mut object.sync, order),
            _ => {}
        }
        let place = thread.location;
        thread.awaiting = false;
        let newest = history.len() - 1;
        // A write of the value that was there changes nothing that a spinning thread could wait for.
        if written.is_some() && read_bits != written {
            self.note_change(id);
        } else if let Some(index) = stale {
            // It is not what the thread would read next time, so it must not be taken for waiting for a change.
            let (own, newest) = (history.store(index).version, object.version);
            self.note_read_of(id, if own == newest { own.wrapping_sub(1) } else { own });
        } else {
            self.note_read(id);
        }
        let history = &mut self.weak.histories[id.index()];
        history.note_order(position.is_some());
        if written.is_some() && !self.weak.makes_a_difference {
            self.weak.makes_a_difference = history.is_ahead_of_loads(&self.threads[me].clock.clock);
        }
        let mut note = failed.then(|| "failed".to_owned());
        if let Some(index) = stale.filter(|_| self.observer.is_some()) {
            let words = stale_words(history.store(index + 1));
            note = Some(if failed { format!("failed, {words}") } else { words });
        }
        match (written, read(target)) {
            (Some(_), Some(value)) => {
                let object = &self.objects[id.index()];
                let mut store = Store::new(value, epoch, place, position);
                store.sync.clone_from(&object.sync);
                store.version = object.version;
                history.push(store);
            }
            _ => history.note_read(stale.unwrap_or(newest), epoch, position),
        }
        history.note_staleness(me, stale.is_some());
        let age = stale.map_or(0, |index| newest - index);
        // A SeqCst load counts as a write: see `dependence::accesses`.
        let mode = if written.is_some() || position.is_some() { Mode::Write } else { Mode::Read };
        let accesses = [(id, mode), (self.weak.order_object, Mode::Read)];
        self.set_accesses(&accesses[..1 + usize::from(position.is_some())]);
        self.finish_valued(operation, age as u64, read_bits, written, note.as_deref());
        if age > 0 {
            self.threads.mine().turns.forget_news(id);
        }
    }

    /// The operation as people know it, without the object that stands for the total order.
    pub(super) fn without_order(&self, operation: Operation) -> Operation {
        if !self.settings.weak_memory {
            return operation;
        }
        let known = |object| if object == self.weak.order_object { ObjectId::NONE } else { object };
        Operation { action: operation.action, object: known(operation.object), other: known(operation.other) }
    }

    /// A SeqCst fence is a step on the total order.
    pub(super) fn finish_ordered_fence(&mut self, operation: Operation) {
        let me = self.current;
        let thread = &mut self.threads[me];
        let epoch = thread.clock.clock.epoch(me);
        thread.clock.fence(me, Ordering::SeqCst);
        self.weak.order.fence(epoch, thread.clock.before_fence());
        self.set_accesses(&[(self.weak.order_object, Mode::Write)]);
        self.finish_many(operation, 8, None);
    }
}

/// Says that this store came after what has been read.
fn stale_words(next: &Store) -> String {
    let thread = ThreadId::new(next.epoch.thread as usize);
    match next.place.and_then(Place::location) {
        Some(SourceLocation { file, line, .. }) => {
            let file = file.rsplit('/').next().unwrap_or_default();
            format!("{STALE}: {thread} stored at {file}:{line}")
        }
        None => format!("{STALE}: {thread} stored since"),
    }
}

/// What the variable holds. `None`: it is larger than anything that has a history.
fn read(target: AtomicRef) -> Option<Value> {
    let size = target.of.size;
    if !matches!(size, 1 | 2 | 4 | 8) {
        return None;
    }
    let mut bytes = MaybeUninit::<u64>::zeroed();
    // SAFETY: the variable is about to be used, or has just been, by the thread that calls, and no other runs; a `u64` has room for it.
    unsafe { std::ptr::copy_nonoverlapping(target.address.cast::<u8>(), bytes.as_mut_ptr().cast(), size) };
    // SAFETY: all bytes are initialised: those of an atomic variable are, and the others are zero.
    let word = unsafe { bytes.assume_init() };
    let bits = if cfg!(target_endian = "big") { word >> (64 - 8 * size) } else { word };
    Some(Value { bytes, bits })
}

/// Makes the variable hold this.
fn write(target: AtomicRef, value: Value) {
    // SAFETY: as in `read`; the variable is all `UnsafeCell`, so it may be written through a shared reference, and the value is one that
    // it has held.
    unsafe {
        std::ptr::copy_nonoverlapping(
            value.bytes.as_ptr().cast::<u8>(),
            target.address.cast_mut().cast::<u8>(),
            target.of.size,
        );
    }
}
