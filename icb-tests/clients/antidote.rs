//! Locks that a panic does not poison.
//!
//! ```toml
//! antidote = "1"
//! ```

use antidote::{Condvar, Mutex, RwLock};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_panic_leaves_the_lock() {
    let (done, changed) = (Mutex::new(false), Condvar::new());
    let count = RwLock::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let panics = catch_unwind(AssertUnwindSafe(|| {
                let mut count = count.write();
                *count += 1;
                std::panic::resume_unwind(Box::new(1));
            }));
            assert!(panics.is_err());
            *done.lock() = true;
            changed.notify_one();
        });
        let mut guard = done.lock();
        while !*guard {
            guard = changed.wait(guard);
        }
        assert_eq!(*count.read(), 1);
    });
}
