//! `AtomicBool`.

use super::{Ordering, common_methods, modify_methods};
use ::std::fmt;

/// Mirrors `std::sync::atomic::AtomicBool`, with the same layout.
#[repr(transparent)]
pub struct AtomicBool {
    real: ::std::sync::atomic::AtomicBool,
}

common_methods!(AtomicBool, bool, u64::from, [], []);

impl AtomicBool {
    modify_methods! { AtomicBool, bool, bool:
        fetch_and = |old: bool, val: bool| old & val;
        fetch_nand = |old: bool, val: bool| !(old & val);
        fetch_or = |old: bool, val: bool| old | val;
        fetch_xor = |old: bool, val: bool| old ^ val;
    }

    /// Mirrors `std::sync::atomic::AtomicBool::fetch_not`.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

impl Default for AtomicBool {
    #[inline]
    fn default() -> Self {
        Self::new(false)
    }
}
