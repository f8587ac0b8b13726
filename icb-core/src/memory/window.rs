//! The window of addresses in which the blocks of the program under test lie: where it is. What lies where in it, the arena of the runtime
//! knows.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that have a region of their own; all later ones share the last.
pub(crate) const REGIONS: usize = 256;
/// Bytes of addresses of a region.
pub(crate) const REGION: usize = 1 << (if usize::BITS == 64 { 32 } else { 16 });
/// Bytes of addresses of all.
pub(crate) const LENGTH: usize = REGIONS * REGION;

/// Where no address lies.
const NOWHERE: usize = usize::MAX - LENGTH;
static BASE: AtomicUsize = AtomicUsize::new(NOWHERE);

/// Where it begins.
pub(crate) fn base() -> usize {
    BASE.load(Ordering::Relaxed)
}

/// It begins here, for good.
pub(crate) fn begin_at(base: usize) {
    BASE.store(base, Ordering::Relaxed);
}

/// Whether the address lies in the window.
#[inline]
pub(crate) fn holds(address: usize) -> bool {
    address.wrapping_sub(base()) < LENGTH
}
