//! A value is retired while somebody reads it.
//!
//! ```toml
//! seize = "0.5"
//! ```

use seize::{Collector, Guard, reclaim};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

#[test]
fn retired_while_read() {
    let collector = Arc::new(Collector::new());
    let pointer = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(1))));
    let (their_collector, their_pointer) = (collector.clone(), pointer.clone());
    let thread = std::thread::spawn(move || {
        let guard = their_collector.enter();
        // SAFETY: protected, and never null.
        let value = unsafe { *guard.protect(&their_pointer, Ordering::Acquire) };
        assert!(value == 1 || value == 2);
    });
    let guard = collector.enter();
    let old = guard.swap(&pointer, Box::into_raw(Box::new(2)), Ordering::AcqRel);
    // SAFETY: made by a box, and no longer to be reached.
    unsafe { guard.defer_retire(old, reclaim::boxed) };
    drop(guard);
    thread.join().unwrap();
    // SAFETY: the last one, which nobody reads any more.
    drop(unsafe { Box::from_raw(pointer.load(Ordering::Relaxed)) });
}
