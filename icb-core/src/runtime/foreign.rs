//! Atomic operations that no mirrored type makes: those of `std`'s own `Arc`, `Mutex` and atomics, in crates that are compiled with
//! the instrumentation pass and are on the real `std`. The pass puts calls in their place (`hooks`). They are no steps, but a part of the
//! step before, and what they release and acquire orders what threads do: memory that an `Arc` of `std` keeps alive is freed after all
//! uses of it.
//!
//! What `std` brings compiled (the slow paths of its `Once` and of its locks) is not told of. Who acquires a value that none of the operations seen has
//! left there has acquired it from such code: it counts as ordered after all that the others have done.

use super::accesses::{has_foreign, running_hooked, set_has_foreign};
use super::allocator::aside;
use super::execution::Execution;
use crate::clock::VectorClock;
use crate::memory::happens_before::AtomicClock;
use crate::trace::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The variables that something has been released with or acquired from in the running execution, by address.
pub(super) type Variables = HashMap<usize, Variable, BuildHasherDefault<ByAddress>>;

/// One of them.
#[derive(Debug)]
pub(super) struct Variable {
    clock: AtomicClock,
    /// What the operation seen last has left there.
    value: u64,
}

/// An address is spread over the bits of its hash.
#[derive(Default, Debug)]
pub(super) struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("an address is one word")
    }
    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64 >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// What has been done to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Done {
    Load,
    Store,
    Modify,
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

/// The calling thread has just done this to the variable at an address, where there was `before`, and now is `after`.
#[inline]
pub(super) fn happened(address: usize, done: Done, order: i32, before: u64, after: u64) {
    if order != 0 || has_foreign() {
        note(address, done, ordering(order), before, after);
    }
}

#[inline(never)]
fn note(address: usize, done: Done, order: Ordering, before: u64, after: u64) {
    let Some(running) = running_hooked() else { return };
    running.with(|e| {
        if !e.giving_up && e.end.is_none() {
            e.foreign_operation(address, done, order, before, after);
        }
    });
}

/// The calling thread has come by a fence.
pub(super) fn fenced(order: i32) {
    let Some(running) = running_hooked() else { return };
    running.with(|e| {
        if !e.giving_up && e.end.is_none() {
            e.note_freed();
            let me = e.current;
            e.threads[me].clock.fence(me, ordering(order));
            set_has_foreign();
        }
    });
}

impl Execution {
    fn foreign_operation(&mut self, address: usize, done: Done, order: Ordering, before: u64, after: u64) {
        // What has been freed so far was freed without that.
        self.note_freed();
        let me = self.current;
        let known = self.foreign.get(&address);
        let reads = done != Done::Store;
        if known.is_some_and(|known| reads && known.value != before) && order.acquires() {
            self.acquire_from_all();
        }
        let clock = &mut self.threads.mine().clock;
        let known = self.foreign.get_mut(&address);
        let is_of_use = match done {
            Done::Load => order.acquires(),
            _ => clock.publishes(order),
        };
        if known.is_none() && !is_of_use {
            return;
        }
        let known = match known {
            Some(known) => known,
            None => {
                set_has_foreign();
                aside(|| {
                    let new = || Variable { clock: AtomicClock::default(), value: before };
                    self.foreign.entry(address).or_insert_with(new)
                })
            }
        };
        if reads {
            clock.load(&known.clock, order);
        }
        match done {
            Done::Load => {}
            Done::Modify => clock.continue_sequence(me, &mut known.clock, order),
            Done::Store => clock.store(me, &mut known.clock, order),
        }
        known.value = after;
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
