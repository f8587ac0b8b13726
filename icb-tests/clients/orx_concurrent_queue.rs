//! Two threads push, and two pop.
//!
//! ```toml
//! orx-concurrent-queue = "2"
//! ```

use orx_concurrent_queue::ConcurrentQueue;

#[test]
fn each_is_popped_once() {
    let queue = ConcurrentQueue::new();
    let popped = std::thread::scope(|scope| {
        scope.spawn(|| queue.push(Box::new(1)));
        let popper = scope.spawn(|| queue.pop().map_or(0, |number: Box<u32>| *number));
        queue.push(Box::new(2));
        queue.pop().map_or(0, |number| *number) + popper.join().unwrap()
    });
    let mut rest = 0;
    while let Some(number) = queue.pop() {
        rest += *number;
    }
    assert_eq!(popped + rest, 3);
}
