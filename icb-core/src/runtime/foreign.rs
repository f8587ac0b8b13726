//! Atomic operations that no mirrored type makes: those of `std`'s own `Arc`, `Mutex` and atomics, in crates that are compiled with
//! the instrumentation pass and are on the real `std`. The pass puts calls in their place (`hooks`). They are no steps, but a part of the
//! step before, and what they release and acquire orders what threads do: memory that an `Arc` of `std` keeps alive is freed after all
//! uses of it.

use super::accesses::{has_foreign, running_hooked, set_has_foreign};
use super::allocator::aside;
use super::execution::Execution;
use crate::memory::happens_before::AtomicClock;
use crate::trace::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The variables that something has been released with in the running execution, by address.
pub(super) type Clocks = HashMap<usize, AtomicClock, BuildHasherDefault<ByAddress>>;

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

/// The calling thread has just done this to the variable at an address.
#[inline]
pub(super) fn happened(address: usize, done: Done, order: i32) {
    if order != 0 || has_foreign() {
        note(address, done, ordering(order));
    }
}

#[inline(never)]
fn note(address: usize, done: Done, order: Ordering) {
    let Some(running) = running_hooked() else { return };
    running.with(|e| {
        if !e.giving_up && e.end.is_none() {
            e.foreign_operation(address, done, order);
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
    fn foreign_operation(&mut self, address: usize, done: Done, order: Ordering) {
        // What has been freed so far was freed without that.
        self.note_freed();
        let me = self.current;
        let clock = &mut self.threads.mine().clock;
        let known = self.foreign.get_mut(&address);
        if let (Some(sync), Done::Load | Done::Modify) = (&known, done) {
            clock.load(sync, order);
        }
        if done == Done::Load {
            return;
        }
        if known.is_none() && !clock.publishes(order) {
            return;
        }
        let sync = match known {
            Some(known) => known,
            None => {
                set_has_foreign();
                aside(|| self.foreign.entry(address).or_default())
            }
        };
        match done {
            Done::Modify => clock.continue_sequence(me, sync, order),
            _ => clock.store(me, sync, order),
        }
    }
}
