//! The flags of a lock: poisoned, and used outside an execution. Setting and reading them is part of the operation
//! that the lock performs, not a step of its own.

use crate::door;
use crate::image::ESCAPED;
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
    pub(crate) fn poisoned(&self) -> bool {
        self.bits.load(Ordering::Relaxed) & POISONED != 0
    }

    pub(crate) fn clear_poison(&self) {
        self.bits.fetch_and(!POISONED, Ordering::Relaxed);
    }

    /// A guard goes: it poisons if its thread has begun to unwind since the guard was made.
    #[inline]
    pub(crate) fn done(&self, was_unwinding: bool) {
        if !was_unwinding && door::unwinding() {
            self.bits.fetch_or(POISONED, Ordering::Relaxed);
        }
    }

    /// The lock is used outside an execution.
    #[inline]
    pub(crate) fn escape(&self) {
        if self.bits.load(Ordering::Relaxed) & ESCAPED == 0 {
            self.bits.fetch_or(ESCAPED, Ordering::Relaxed);
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
