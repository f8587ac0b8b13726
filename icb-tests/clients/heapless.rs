//! Queues in memory of fixed size: one producer and one consumer, and many of each.
//!
//! ```toml
//! heapless = "0.9"
//! ```

#[test]
fn in_order() {
    let mut queue: heapless::spsc::Queue<Box<u32>, 3> = heapless::spsc::Queue::new();
    let (mut producer, mut consumer) = queue.split();
    std::thread::scope(|scope| {
        scope.spawn(move || [1, 2].map(|number| producer.enqueue(Box::new(number)).unwrap()));
        let seen: Vec<u32> = (0..2).filter_map(|_| consumer.dequeue()).map(|number| *number).collect();
        assert!([1, 2].starts_with(&seen));
    });
}

#[test]
#[allow(deprecated)]
fn one_of_many() {
    let queue: heapless::mpmc::Queue<u32, 2> = heapless::mpmc::Queue::new();
    std::thread::scope(|scope| {
        scope.spawn(|| queue.enqueue(1).unwrap());
        assert!(queue.dequeue().is_none_or(|one| one == 1));
    });
}
