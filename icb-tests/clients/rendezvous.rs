//! Who forked is waited for.
//!
//! ```toml
//! rendezvous = "0.5"
//! ```

use rendezvous::Rendezvous;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn all_are_waited_for() {
    let (rendezvous, count) = (Rendezvous::new(), Arc::new(AtomicU32::new(0)));
    for _ in 0..2 {
        let (guard, count) = (rendezvous.fork_guard(), count.clone());
        std::thread::spawn(move || {
            count.fetch_add(1, Relaxed);
            drop(guard);
        });
    }
    rendezvous.rendezvous();
    assert_eq!(count.load(Relaxed), 2);
}
