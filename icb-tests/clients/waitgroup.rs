//! A task waits for two workers.
//!
//! ```toml
//! waitgroup = "0.1"
//! pollster = "0.4"
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use waitgroup::WaitGroup;

#[test]
fn both_are_done() {
    let (group, done) = (WaitGroup::new(), Arc::new(AtomicU32::new(0)));
    for _ in 0..2 {
        let (worker, done) = (group.worker(), done.clone());
        std::thread::spawn(move || {
            done.fetch_add(1, SeqCst);
            drop(worker);
        });
    }
    pollster::block_on(group.wait());
    assert_eq!(done.load(SeqCst), 2);
}
