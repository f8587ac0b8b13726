//! A mutex and a condition variable on futexes of their own.
//!
//! ```toml
//! parking_lot = "0.12"
//! ```

use parking_lot::{Condvar, Mutex};

#[test]
fn a_counter() {
    let count = Mutex::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| *count.lock() += 1);
        scope.spawn(|| *count.lock() += 1);
    });
    assert_eq!(*count.lock(), 2);
}

#[test]
fn a_flag() {
    let (flag, changed) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *flag.lock() = true;
            changed.notify_one();
        });
        let mut flag = flag.lock();
        while !*flag {
            changed.wait(&mut flag);
        }
    });
}

/// A thread that waits for ever, in a function of C, when the test has ended.
#[test]
fn a_waiter_is_left() {
    let shared = std::sync::Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = shared.clone();
    std::thread::spawn(move || theirs.1.wait(&mut theirs.0.lock()));
    drop(shared.0.lock());
}
