//! What the hooks of accesses pass over at once: the private part of the running thread's stack, and everything while nobody's accesses are
//! checked. Nearly all accesses are of these kinds, so this takes a few instructions and looks at two variables, which all OS threads
//! share: a variable of each OS thread would cost a hook that saves registers.
//!
//! They are those of the one OS thread that runs an execution. While several do, nothing is passed over, but for a part of the stack of one
//! of them that it may have let pass just before: the others have no business there.

use super::own_lock::OwnLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Where that begins which is passed over.
static START: AtomicUsize = AtomicUsize::new(0);
/// How far behind that an access of at most [`WIDEST`] bytes may begin.
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Bytes of the widest access but for copies.
const WIDEST: usize = 16;

/// How many OS threads there are whose accesses are checked.
static CHECKED: AtomicUsize = AtomicUsize::new(0);
/// Held while that changes.
static CHANGING: OwnLock<()> = OwnLock::new(());

/// Whether an access of at most [`WIDEST`] bytes is passed over.
#[inline(always)]
pub(super) fn passes(address: usize) -> bool {
    passes_wholly(address, WIDEST)
}

/// Whether an access of so many bytes is passed over.
#[inline(always)]
pub(super) fn passes_wholly(address: usize, size: usize) -> bool {
    let offset = address.wrapping_sub(START.load(Relaxed));
    offset.saturating_add(size.saturating_sub(WIDEST)) < LENGTH.load(Relaxed)
}

/// From now on the calling OS thread passes over what lies between these addresses.
#[inline]
pub(super) fn pass(start: usize, end: usize) {
    LENGTH.store(0, Relaxed);
    if CHECKED.load(Relaxed) <= 1 {
        START.store(start, Relaxed);
        LENGTH.store(end.saturating_sub(start + WIDEST - 1), Relaxed);
    }
}

/// The accesses of the calling OS thread are checked from now on.
pub(super) fn begin() {
    let _changing = CHANGING.lock();
    CHECKED.fetch_add(1, Relaxed);
    LENGTH.store(0, Relaxed);
}

/// The accesses of the calling OS thread are not checked any more.
pub(super) fn end() {
    let _changing = CHANGING.lock();
    if CHECKED.fetch_sub(1, Relaxed) == 1 {
        pass(0, usize::MAX);
    }
}

/// Calls `f`, of whose accesses nothing is passed over, though they are not checked.
pub(super) fn nothing_during<R>(f: impl FnOnce() -> R) -> R {
    begin();
    let result = f();
    end();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_inside_is_passed_over() {
        nothing_during(|| {
            assert!(!passes(0) && !passes(4096));
            pass(4096, 4096 + 64);
            for (address, size, expected) in [
                (4096, 1, true),
                (4095, 1, false),
                (4096 + 48, 16, true),
                (4096 + 49, 16, false),
                (4096 + 64, 1, false),
                (4096, 64, true),
                (4096, 65, false),
                (4096 + 16, 48, true),
                (4096 + 16, 49, false),
                (4097, usize::MAX, false),
            ] {
                assert_eq!(passes_wholly(address, size), expected, "{address} {size}");
            }
            nothing_during(|| {
                assert!(!passes(4096));
                pass(4096, 4096 + 64);
                assert!(!passes(4096), "there are two");
            });
            assert!(!passes(4096));
            pass(4096, 4096 + 8);
            assert!(!passes(4096), "too short for the widest");
        });
        assert!(passes(0) && passes_wholly(usize::MAX - 64, 8));
    }
}
