//! One thread replaces what another reads under a guard.
//!
//! ```toml
//! crossbeam-epoch = "0.9"
//! ```

use crossbeam_epoch::{Atomic, Owned, pin};
use std::sync::atomic::Ordering::{AcqRel, Acquire};

#[test]
fn a_reader_and_a_replacement() {
    let value = Atomic::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let guard = pin();
            let old = value.swap(Owned::new(2), AcqRel, &guard);
            // SAFETY: nobody can reach the old value any more but those who are pinned.
            unsafe { guard.defer_destroy(old) };
        });
        let guard = pin();
        // SAFETY: never null, and protected by the guard.
        let seen = unsafe { *value.load(Acquire, &guard).deref() };
        assert!(seen == 1 || seen == 2);
    });
    // SAFETY: there is one thread left.
    drop(unsafe { value.into_owned() });
}
