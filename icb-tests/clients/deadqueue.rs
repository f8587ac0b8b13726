//! Asynchronous queues, with and without a limit.
//!
//! ```toml
//! deadqueue = { version = "0.2", features = ["unlimited", "limited"] }
//! pollster = "0.4"
//! ```

#[test]
fn without_a_limit() {
    let queue = deadqueue::unlimited::Queue::new();
    std::thread::scope(|scope| {
        scope.spawn(|| queue.push(1));
        scope.spawn(|| queue.push(2));
        let sum = pollster::block_on(queue.pop()) + pollster::block_on(queue.pop());
        assert_eq!(sum, 3);
    });
}

#[test]
fn with_one_place() {
    let queue = deadqueue::limited::Queue::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pollster::block_on(queue.push(1));
            pollster::block_on(queue.push(2));
        });
        assert_eq!((pollster::block_on(queue.pop()), pollster::block_on(queue.pop())), (1, 2));
    });
}
