//! Calls for the same key at once are one call.
//!
//! ```toml
//! rs-singleflight = "0.2"
//! pollster = "0.4"
//! ```

use rs_singleflight::Group;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn both_get_the_value() {
    let group = Group::<&str, usize, ()>::new();
    let count = AtomicUsize::new(0);
    let work = || {
        let call = group.do_call("key", || async { Ok(count.fetch_add(1, Relaxed) + 1) });
        pollster::block_on(call).unwrap()
    };
    let (one, two) = std::thread::scope(|scope| {
        let thread = scope.spawn(work);
        (work(), thread.join().unwrap())
    });
    let done = count.load(Relaxed);
    assert!(one <= done && two <= done && done <= 2);
    assert_eq!(group.in_flight(), 0);
}
