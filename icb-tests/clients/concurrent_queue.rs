//! A bounded queue that is closed.
//!
//! ```toml
//! concurrent-queue = "2"
//! ```

use concurrent_queue::ConcurrentQueue;

#[test]
fn push_and_close() {
    let queue = ConcurrentQueue::bounded(2);
    let pushed = std::thread::scope(|scope| {
        let pusher = scope.spawn(|| queue.push(1).is_ok());
        queue.close();
        pusher.join().unwrap()
    });
    assert_eq!(queue.pop().is_ok(), pushed);
}
