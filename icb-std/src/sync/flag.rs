//! The flags of a lock: poisoned, and used outside an execution. Setting and reading them is part of the operation
//! that the lock performs, not a step of its own.

use crate::door;
use crate::image::ESCAPED;
use crate::raw;
use ::std::sync::PoisonError;
use ::std::sync::atomic::{AtomicU8, Ordering};

const POISONED: u8 = 1;

/// Zero: neither poisoned nor escaped.
pub(crate) struct Flag {
    bits: AtomicU8,
}

impl Flag {
    pub(crate) const fn new() -> Flag {
        Flag { bits: AtomicU8::new(0) }
    }

    #[inline]
    fn load(&self) -> u8 {
        // SAFETY: the variable is borrowed.
        unsafe { raw::load(self.bits.as_ptr()) }
    }

    /// Sets these bits.
    #[cold]
    #[inline(never)]
    fn set(&self, bits: u8) {
        self.bits.fetch_or(bits, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn poisoned(&self) -> bool {
        self.load() & POISONED != 0
    }

    pub(crate) fn clear_poison(&self) {
        self.bits.fetch_and(!POISONED, Ordering::Relaxed);
    }

    /// A guard goes: it poisons if its thread has begun to unwind since the guard was made. Whether it does.
    #[inline]
    pub(crate) fn done(&self, was_unwinding: bool) -> bool {
        let poisons = !was_unwinding && door::unwinding();
        if poisons {
            self.set(POISONED);
        }
        poisons
    }

    /// The lock is used outside an execution.
    #[inline]
    pub(crate) fn escape(&self) {
        if self.load() & ESCAPED == 0 {
            self.set(ESCAPED);
        }
    }

    pub(crate) fn bits(&self) -> *const AtomicU8 {
        &raw const self.bits
    }

    /// `Ok` or `Err`, as the lock is poisoned.
    #[inline]
    pub(crate) fn result<G>(&self, guard: G) -> Result<G, PoisonError<G>> {
        if self.poisoned() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }
}
