//! Two threads push into a queue of two places.
//!
//! ```toml
//! crossbeam-queue = "0.3"
//! ```

use crossbeam_queue::{ArrayQueue, SegQueue};

#[test]
fn two_pushers() {
    let (array, segments) = (ArrayQueue::new(2), SegQueue::new());
    std::thread::scope(|scope| {
        scope.spawn(|| (array.push(1).unwrap(), segments.push(1)));
        scope.spawn(|| (array.push(2).unwrap(), segments.push(2)));
    });
    assert_eq!(array.pop().unwrap() + array.pop().unwrap(), 3);
    assert_eq!(segments.pop().unwrap() + segments.pop().unwrap(), 3);
    assert!(array.is_empty() && segments.is_empty());
}
