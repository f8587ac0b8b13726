//! A permit is given back while a thread begins to wait for it, and the thread waits for ever.
//! Found: deadlock: .
//!
//! ```toml
//! sema = "=0.1.4"
//! ```

use sema::Semaphore;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn one_at_a_time() {
    let (semaphore, count) = (Semaphore::new(1), AtomicU32::new(0));
    let work = || {
        let _guard = semaphore.take().unwrap();
        count.store(count.load(Relaxed) + 1, Relaxed);
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    assert_eq!(count.into_inner(), 2);
}
