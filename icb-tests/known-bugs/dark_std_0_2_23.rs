//! Of two clones that are made at once one is not counted, and `wait` returns before its worker is done.
//! Found: panic: the worker is done.
//!
//! ```toml
//! dark-std = "=0.2.23"
//! ```

use dark_std::sync::WaitGroup;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

#[test]
fn all_are_waited_for() {
    let (group, done) = (WaitGroup::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| group.clone());
        let second = group.clone();
        let first = first.join().unwrap();
        scope.spawn(|| {
            done.store(true, SeqCst);
            drop(first);
        });
        drop(second);
        group.wait();
        assert!(done.load(SeqCst), "the worker is done");
    });
}
