//! Two threads meet twice.
//!
//! ```toml
//! hurdles = "1"
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn two_meet_twice() {
    let mut barrier = hurdles::Barrier::new(2);
    let mut theirs = barrier.clone();
    let count = Arc::new(AtomicU32::new(0));
    let their_count = count.clone();
    let thread = std::thread::spawn(move || {
        their_count.fetch_add(1, Ordering::Relaxed);
        let first = theirs.wait().is_leader();
        assert_eq!(their_count.load(Ordering::Relaxed), 2);
        (first, theirs.wait().is_leader())
    });
    count.fetch_add(1, Ordering::Relaxed);
    let first = barrier.wait().is_leader();
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let second = barrier.wait().is_leader();
    let theirs = thread.join().unwrap();
    assert!(first != theirs.0 && second != theirs.1, "one leader");
}
