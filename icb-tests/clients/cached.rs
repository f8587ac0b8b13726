//! Functions whose results are kept, behind locks; those that ask at once are let wait for the one that works.
//!
//! ```toml
//! cached = { version = "4", default-features = false, features = ["proc_macro", "ahash"] }
//! ```

use cached::macros::cached;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

static COUNT: AtomicUsize = AtomicUsize::new(0);

#[cached(sync_writes = true)]
fn work(number: u32) -> u32 {
    COUNT.fetch_add(1, SeqCst);
    number + 1
}

#[test]
fn the_work_is_done_once() {
    let thread = std::thread::spawn(|| work(1));
    assert_eq!(work(1), 2);
    assert_eq!(thread.join().unwrap(), 2);
    assert_eq!(COUNT.load(SeqCst), 1);
}
