//! Of two references that go at once, the last one leaves the value to whoever still looks at it, and that one only counts itself out: nobody ever
//! drops it, whatever is collected.
//! Found: the value is dropped.
//!
//! ```toml
//! dumpster = "=2.1.0"
//! ```

use dumpster::Trace;
use dumpster::sync::{Gc, collect};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Trace)]
struct Value(u32);

static DROPPED: AtomicBool = AtomicBool::new(false);

impl Drop for Value {
    fn drop(&mut self) {
        assert_eq!(self.0, 1);
        DROPPED.store(true, Ordering::Relaxed);
    }
}

#[test]
fn both_references_go() {
    let ours = Gc::new(Value(1));
    let theirs = ours.clone();
    let thread = std::thread::spawn(move || drop(theirs));
    drop(ours);
    thread.join().unwrap();
    collect();
    assert!(DROPPED.load(Ordering::Relaxed), "the value is dropped");
}
