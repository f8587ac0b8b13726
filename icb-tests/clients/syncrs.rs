//! A lock, a cell and a semaphore that spin.
//!
//! ```toml
//! syncrs = "0.5"
//! ```

use std::sync::Arc;
use syncrs::{Mutex, OnceLock, Semaphore};

#[test]
fn one_at_a_time() {
    let semaphore = Arc::new(Semaphore::with_initial_value(1));
    let count = Arc::new(Mutex::new(0));
    let (semaphore_too, count_too) = (semaphore.clone(), count.clone());
    let thread = std::thread::spawn(move || {
        semaphore_too.dec(1);
        assert!(!count_too.is_locked());
        *count_too.lock() += 1;
        semaphore_too.inc(1);
    });
    semaphore.dec(1);
    assert!(!count.is_locked());
    *count.lock() += 1;
    semaphore.inc(1);
    thread.join().unwrap();
    assert_eq!(*count.lock(), 2);
}

#[test]
fn written_once() {
    let cell = Arc::new(OnceLock::new());
    let other = cell.clone();
    let thread = std::thread::spawn(move || *other.get_or_init(|| 1));
    let here = *cell.get_or_init(|| 2);
    assert_eq!(here, thread.join().unwrap());
}
