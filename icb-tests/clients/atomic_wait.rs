//! A lock made of `wait` and `wake_one`.
//!
//! ```toml
//! atomic-wait = "1"
//! ```

use atomic_wait::{wait, wake_one};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

#[test]
fn a_counter() {
    let (lock, count) = (AtomicU32::new(0), AtomicU32::new(0));
    let adds = || {
        if lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while lock.swap(2, Acquire) != 0 {
                wait(&lock, 2);
            }
        }
        count.store(count.load(Relaxed) + 1, Relaxed);
        if lock.swap(0, Release) == 2 {
            wake_one(&lock);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(adds);
        scope.spawn(adds);
    });
    assert_eq!(count.load(Relaxed), 2);
}
