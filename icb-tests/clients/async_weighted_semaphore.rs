//! One permit and two threads.
//!
//! ```toml
//! async-weighted-semaphore = "0.2"
//! pollster = "0.4"
//! ```

use async_weighted_semaphore::Semaphore;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn one_at_a_time() {
    let (semaphore, inside) = (Semaphore::new(1), AtomicU32::new(0));
    let work = || {
        let permit = pollster::block_on(semaphore.acquire(1)).unwrap();
        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "one at a time");
        inside.fetch_sub(1, Ordering::Relaxed);
        drop(permit);
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    assert!(semaphore.try_acquire(1).is_ok());
}
