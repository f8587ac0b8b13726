//! A deep recursion in a thread, on stacks that are made when they are needed.
//!
//! ```toml
//! stacker = "0.1"
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

fn deep(count: &AtomicU32, depth: u32) -> u32 {
    stacker::maybe_grow(32 * 1024, 256 * 1024, || {
        let place = std::hint::black_box([depth; 1024]);
        if depth == 0 { count.fetch_add(1, Ordering::SeqCst) } else { deep(count, depth - 1) + place[7] - place[8] }
    })
}

#[test]
fn two_threads() {
    let count = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| deep(&count, 200));
        deep(&count, 200);
    });
    assert_eq!(count.load(Ordering::SeqCst), 2);
}
