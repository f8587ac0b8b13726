//! Threads that are joined when their handles go.
//!
//! ```toml
//! jod-thread = "1"
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_handle_that_goes_joins() {
    let count = Arc::new(AtomicU32::new(0));
    {
        let same = count.clone();
        let _first = jod_thread::spawn(move || same.fetch_add(1, Ordering::Relaxed));
        let same = count.clone();
        let second = jod_thread::Builder::new().name("two".to_owned());
        let second = second.spawn(move || same.fetch_add(1, Ordering::Relaxed)).unwrap();
        assert!(second.join() < 2);
    }
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
