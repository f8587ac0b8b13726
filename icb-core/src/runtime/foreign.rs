//! Atomic operations that no mirrored type makes: those of `std`'s own `Arc`, `Mutex` and atomics, in crates that are compiled with
//! the instrumentation pass and are on the real `std`. The pass puts calls in their place (`hooks`). They are no steps, but a part of the
//! step before, and what they release and acquire orders what threads do: memory that an `Arc` of `std` keeps alive is freed after all
//! uses of it. So their order matters, and so do the values they leave: reductions are told.
//!
//! What `std` brings compiled (the slow paths of its `Once` and of its locks) is not told of: `futexes` finds out what that has done.
//! Elsewhere, who acquires a value that none of the operations seen has left there counts as ordered after all that the others have done.

use super::accesses::{running_hooked, with_hooked};
use super::address_map::{ByAddress, Kind, key};
use super::allocator::aside;
use super::arena::UNIT;
use super::execution::Execution;
use super::futexes::{Futexes, SIZE};
use crate::clock::VectorClock;
use crate::memory::happens_before::AtomicClock;
use crate::memory::window;
use crate::trace::{Access, Action, Mode, ObjectClass, ObjectId, Operation, Ordering};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Those seen in the running execution.
#[derive(Default, Debug)]
pub(super) struct Variables {
    pub(super) by_address: ByAddress<Variable>,
    pub(super) futexes: Futexes,
}

impl Variables {
    pub(super) fn clear(&mut self) {
        self.by_address.clear();
        self.futexes.clear();
    }

    /// Nothing is known any more of variables in this memory, but for futexes.
    pub(super) fn forget_variables(&mut self, start: usize, size: usize) {
        if self.by_address.len() <= size {
            self.by_address.retain(|address, _| address.wrapping_sub(start) >= size);
        } else {
            (start..start + size).for_each(|address| drop(self.by_address.remove(&address)));
        }
    }
}

/// One of them.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) clock: AtomicClock,
    pub(super) object: ObjectId,
    /// What the operation seen last has left there.
    value: u64,
    /// Its number among those that may be futexes.
    futex: Option<usize>,
}

impl Variable {
    pub(super) fn is_futex(&self) -> bool {
        self.futex.is_some()
    }
}

/// What has been done to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Done {
    Load,
    Store,
    Modify,
    /// One has been added, or taken away, in the way of an `Arc` of `std` that counts.
    Count,
}

impl Done {
    /// What this change is, by the name of the operation.
    #[inline]
    pub(super) fn modification(change: &str, operand: u64, order: i32) -> Done {
        match (change, operand, ordering(order)) {
            ("fetch_add", 1, Ordering::Relaxed) | ("fetch_sub", 1, Ordering::Release) => Done::Count,
            _ => Done::Modify,
        }
    }

    /// How that conflicts with what others do to the variable. References that come and go commute, but for the last one: whoever drops
    /// that has something to do. Anybody else may make something of the number there was.
    fn mode(self, address: usize, after: u64) -> Mode {
        match self {
            Done::Load => Mode::Read,
            Done::Count if after != 0 && counts_references(address) => Mode::Update,
            Done::Store | Done::Modify | Done::Count => Mode::Write,
        }
    }
}

/// Whether this may be the number of references to an `Arc` of `std`: a block of the program begins there, or could, and beside it is a
/// number that may be that of the weak references.
fn counts_references(address: usize) -> bool {
    const MANY: u64 = 1 << 32;
    if !address.is_multiple_of(UNIT) || !window::holds(address) {
        return false;
    }
    let beside: *const u64 = std::ptr::with_exposed_provenance(address + 8);
    // SAFETY: the program uses the first half of this unit, and blocks are whole units.
    let weak = unsafe { AtomicU64::from_ptr(beside.cast_mut()) }.load(Relaxed);
    (1..MANY).contains(&weak) || weak == u64::MAX
}

/// The ordering that a number stands for in the calls of the pass.
fn ordering(number: i32) -> Ordering {
    match number {
        0 => Ordering::Relaxed,
        1 | 2 => Ordering::Acquire,
        3 => Ordering::Release,
        4 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// The calling thread has just done this to a variable, in which there was `before`, and now is `after`.
pub(super) fn happened<V>(variable: *mut V, done: Done, order: i32, before: u64, after: u64) {
    with_hooked(|e| {
        let (address, may_be_futex) = (variable.addr(), size_of::<V>() == SIZE);
        e.foreign_operation(Foreign { address, may_be_futex, done, order: ordering(order), before, after });
    });
}

/// Whether the variable at the address has been used in the running execution, and by no mirrored type.
pub fn is_foreign(address: usize) -> bool {
    running_hooked().is_some_and(|running| running.with(|e| e.foreign.by_address.contains_key(&address)))
}

/// What has been done to a variable.
struct Foreign {
    address: usize,
    may_be_futex: bool,
    done: Done,
    order: Ordering,
    before: u64,
    after: u64,
}

/// The calling thread has come by a fence.
pub(super) fn fenced(order: i32) {
    with_hooked(|e| {
        e.note_freed();
        let me = e.current;
        e.threads[me].clock.fence(me, ordering(order));
    });
}

impl Execution {
    fn foreign_operation(&mut self, operation: Foreign) {
        let Foreign { address, may_be_futex, done, order, before, after } = operation;
        if self.is_counted(address) {
            return;
        }
        // What has been freed so far was freed without that.
        self.note_freed();
        let me = self.current;
        let reads = done != Done::Store;
        match self.foreign.by_address.get(&address).map(|known| (known.value, known.futex)) {
            None => self.enter_foreign(address, before, may_be_futex),
            Some((_, Some(futex))) if reads => self.look_at_futex(futex, before as u32),
            Some((value, _)) if reads && value != before && order.acquires() => self.acquire_from_all(),
            Some(_) => {}
        }
        let clock = &mut self.threads.mine().clock;
        let Some(known) = self.foreign.by_address.get_mut(&address) else { return };
        if reads {
            clock.load(&known.clock, order);
        }
        match done {
            Done::Load => {}
            Done::Modify | Done::Count => clock.continue_sequence(me, &mut known.clock, order),
            Done::Store => clock.store(me, &mut known.clock, order),
        }
        known.value = after;
        let futex = known.futex;
        let access = Access { object: known.object, mode: done.mode(address, after) };
        self.tell_touched(access);
        self.note_foreign(access, done, order, [before, after]);
        if let Some(futex) = futex {
            self.note_futex(futex, after as u32);
        }
    }

    /// A loop with a pause may wait for what others do to the variable, and this may be what one waits for. As with mirrored ones.
    fn note_foreign(&mut self, access: Access, done: Done, order: Ordering, [before, after]: [u64; 2]) {
        let object = access.object;
        let changes = done == Done::Store || before != after;
        if access.mode == Mode::Update {
            // Whoever holds a reference for a while does nothing by that.
            self.object_mut(object).note_change(false);
        } else if changes {
            self.note_change(object);
        } else {
            self.note_read(object);
        }
        if !self.threads.mine().is_unwatched() {
            let action = match done {
                Done::Load => Action::Load(order),
                Done::Store => Action::Store(order),
                Done::Modify | Done::Count if access.mode == Mode::Update => Action::CountUp,
                Done::Modify | Done::Count => Action::ReadModifyWrite(order),
            };
            let read = (done != Done::Store).then_some(before);
            let written = (done != Done::Load).then_some(after);
            self.note_doing(Operation::new(action, object), &[access], read, written);
        }
        if changes {
            self.reconsider(object);
        }
    }

    /// Whether the variable is a count of a mirrored `Arc`, which has told of what it does, and does it by one of `std`: that keeps the weak count right
    /// before the value, whose address the count is known by, and the strong one before that.
    fn is_counted(&self, address: usize) -> bool {
        let count = |address: usize| self.map.get(key(address, Kind::Count)).is_some();
        count(address) || count(address + size_of::<usize>())
    }

    #[cold]
    fn enter_foreign(&mut self, address: usize, value: u64, may_be_futex: bool) {
        let at: *const () = std::ptr::without_provenance(address);
        let object = self.register(ObjectClass::Atomic, "an atomic variable of std", at, None);
        aside(|| {
            let futex = may_be_futex.then(|| self.foreign.futexes.enter(address, value as u32));
            let new = Variable { clock: AtomicClock::default(), object, value, futex };
            self.foreign.by_address.insert(address, new)
        });
        if may_be_futex {
            self.attend();
        }
    }

    /// The running thread has acquired something from somebody, who is not known.
    #[cold]
    fn acquire_from_all(&mut self) {
        let me = self.current;
        aside(|| {
            let mut all = VectorClock::default();
            for other in (0..self.thread_count).filter(|&other| other != me) {
                self.threads[other].clock.release_join(other, &mut all);
            }
            self.threads[me].clock.acquire(&all);
        });
    }
}
