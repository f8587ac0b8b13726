//! Two ask for the same at once; the work is done for both.
//!
//! ```toml
//! async_singleflight = "0.6"
//! pollster = "0.4"
//! ```

use async_singleflight::DefaultGroup;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn both_get_the_value() {
    let group = DefaultGroup::<usize>::new();
    let count = AtomicUsize::new(0);
    let work =
        || pollster::block_on(group.work("key", async { Ok::<_, ()>(count.fetch_add(1, Relaxed) + 1) }));
    let (one, two) = std::thread::scope(|scope| {
        let thread = scope.spawn(work);
        (work(), thread.join().unwrap())
    });
    assert!(one.unwrap() <= 2 && two.unwrap() <= 2);
}
