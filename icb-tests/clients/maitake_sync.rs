//! A mutex, a semaphore and a queue of waiters.
//!
//! ```toml
//! maitake-sync = { version = "0.3", features = ["std"] }
//! pollster = "0.4"
//! ```

use maitake_sync::{Mutex, Semaphore, WaitCell};
use pollster::block_on;

#[test]
fn increments_are_not_lost() {
    let count = Mutex::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| *block_on(count.lock()) += 1);
        *block_on(count.lock()) += 1;
    });
    assert_eq!(*block_on(count.lock()), 2);
}

#[test]
fn a_permit_is_waited_for() {
    let semaphore = Semaphore::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| drop(block_on(semaphore.acquire(1)).unwrap()));
        drop(block_on(semaphore.acquire(1)).unwrap());
    });
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn one_is_woken() {
    let cell = WaitCell::new();
    std::thread::scope(|scope| {
        let waiting = block_on(cell.subscribe());
        scope.spawn(|| cell.wake());
        block_on(waiting).unwrap();
    });
}
