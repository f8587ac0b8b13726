//! A semaphore of one, in two threads.
//!
//! ```toml
//! std-semaphore = "0.1"
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn one_at_a_time() {
    let semaphore = std_semaphore::Semaphore::new(1);
    let inside = AtomicU32::new(0);
    let enter = || {
        let _guard = semaphore.access();
        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
        inside.fetch_sub(1, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        scope.spawn(enter);
        enter();
    });
}
