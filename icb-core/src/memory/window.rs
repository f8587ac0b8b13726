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
/// Where it begins, negated: as an address it would lead whoever looks for what statics lead to (leaks) to the block that lies there.
static MINUS_BASE: AtomicUsize = AtomicUsize::new(NOWHERE.wrapping_neg());

/// Where it begins.
pub(crate) fn base() -> usize {
    MINUS_BASE.load(Ordering::Relaxed).wrapping_neg()
}

/// It begins here, for good.
pub(crate) fn begin_at(base: usize) {
    MINUS_BASE.store(base.wrapping_neg(), Ordering::Relaxed);
}

/// Whether the address lies in the window.
#[inline]
pub(crate) fn holds(address: usize) -> bool {
    address.wrapping_add(MINUS_BASE.load(Ordering::Relaxed)) < LENGTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_where_it_begins_is_no_address_in_it() {
        for place in [NOWHERE, base()] {
            assert!(place.wrapping_neg().wrapping_sub(place) >= LENGTH, "{place:#x}");
        }
        assert!(!holds(MINUS_BASE.load(Ordering::Relaxed)));
        assert!(!holds(0) && !holds(base().wrapping_sub(1)) && !holds(base().wrapping_add(LENGTH)));
    }
}
