//! Two push into a buffer, and one takes it whole.
//!
//! ```toml
//! swap-buffer-queue = "0.2"
//! ```

use std::sync::Arc;
use swap_buffer_queue::SynchronizedQueue;
use swap_buffer_queue::buffer::VecBuffer;

#[test]
fn all_are_taken() {
    let queue = Arc::new(SynchronizedQueue::<VecBuffer<Box<u32>>>::with_capacity(1));
    let other = queue.clone();
    let pushing = std::thread::spawn(move || {
        other.enqueue([Box::new(1)]).unwrap();
        other.enqueue([Box::new(2)]).unwrap();
        other.close();
    });
    let mut numbers = Vec::new();
    while let Ok(slice) = queue.dequeue() {
        numbers.extend(slice.into_iter().map(|number| *number));
    }
    assert_eq!(numbers, [1, 2]);
    pushing.join().unwrap();
}
