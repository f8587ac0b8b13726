//! `increment_done` takes its fast way by what the counters were when it began: a push that has ended since then is counted as done, and now never comes
//! to be seen.
//! Found: panic: .
//!
//! ```toml
//! atomicring = "=1.2.9"
//! ```

use atomicring::AtomicRingBuffer;

#[test]
fn both_are_popped() {
    let ring = AtomicRingBuffer::with_capacity(4);
    std::thread::scope(|scope| {
        scope.spawn(|| ring.try_push(1).unwrap());
        ring.try_push(2).unwrap();
    });
    let sum = ring.try_pop().unwrap_or(0) + ring.try_pop().unwrap_or(0);
    assert_eq!(sum, 3);
}
