//! Two ask for the same at once, and both get what one has done.
//!
//! ```toml
//! singleflight-async = "0.2"
//! pollster = "0.4"
//! ```

use singleflight_async::SingleFlight;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn both_get_the_value() {
    let group = SingleFlight::new();
    let count = AtomicUsize::new(0);
    let work = || pollster::block_on(group.work("key", || async { count.fetch_add(1, Relaxed) + 1 }));
    let (one, two) = std::thread::scope(|scope| {
        let thread = scope.spawn(work);
        (work(), thread.join().unwrap())
    });
    let done = count.load(Relaxed);
    assert!(one <= done && two <= done && done <= 2);
}
