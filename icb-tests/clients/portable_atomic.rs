//! Atomics of sixteen bytes, floats, and flags.
//!
//! ```toml
//! portable-atomic = { version = "1", features = ["float"] }
//! portable-atomic-util = { version = "0.2", features = ["std"] }
//! ```

use portable_atomic::{AtomicF64, AtomicU8, AtomicU64, AtomicU128, Ordering::*};
use portable_atomic_util::Arc;

#[test]
fn sixteen_bytes() {
    let count = Arc::new(AtomicU128::new(0));
    let theirs = count.clone();
    let thread = std::thread::spawn(move || drop(theirs.fetch_add(1 << 100, SeqCst)));
    count.fetch_add(1, SeqCst);
    thread.join().unwrap();
    assert_eq!(count.load(SeqCst), (1 << 100) + 1);
}

#[test]
fn others() {
    let values = Arc::new((AtomicF64::new(0.0), AtomicU8::new(0), AtomicU64::new(0)));
    let theirs = values.clone();
    let thread = std::thread::spawn(move || {
        theirs.0.fetch_add(1.0, AcqRel);
        theirs.1.bit_set(1, AcqRel);
        theirs.2.add(1, Relaxed);
    });
    values.0.fetch_add(2.0, AcqRel);
    values.1.bit_set(0, AcqRel);
    values.2.add(1, Relaxed);
    thread.join().unwrap();
    assert_eq!((values.0.load(Acquire), values.1.load(Acquire), values.2.load(Acquire)), (3.0, 3, 2));
}
