//! `Condvar::wait` gives the lock away and then counts itself among those who wait.
//! Found: threads spin for ever.
//!
//! ```toml
//! syncrs = "=0.5.0"
//! ```

use std::sync::Arc;
use syncrs::{Condvar, Mutex};

#[test]
fn the_waiter_wakes() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = shared.clone();
    let thread = std::thread::spawn(move || {
        *other.0.lock() = true;
        other.1.notify_one();
    });
    let mut ready = shared.0.lock();
    while !*ready {
        ready = shared.1.wait(ready);
    }
    drop(ready);
    thread.join().unwrap();
}
