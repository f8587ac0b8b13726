//! Queues for one and for several producers and consumers.
//!
//! ```toml
//! may_queue = "0.1"
//! ```

#[test]
fn one_producer_one_consumer() {
    let queue = may_queue::spsc::Queue::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            queue.push(Box::new(1));
            queue.push(Box::new(2));
        });
        let first = queue.pop();
        assert!(first.is_none_or(|number| *number == 1));
    });
    let mut last = 0;
    while let Some(number) = queue.pop() {
        last = *number
    }
    assert_eq!(last, 2);
}

#[test]
fn two_producers() {
    let queue = may_queue::mpsc::Queue::new();
    std::thread::scope(|scope| {
        scope.spawn(|| queue.push(Box::new(1)));
        scope.spawn(|| queue.push(Box::new(2)));
        if let Some(number) = queue.pop() {
            queue.push(number)
        }
    });
    assert_eq!(*queue.pop().unwrap() + *queue.pop().unwrap(), 3);
    assert!(queue.pop().is_none());
}

#[test]
fn two_consumers() {
    let queue = may_queue::spmc::Queue::new();
    let sum = std::thread::scope(|scope| {
        let first = scope.spawn(|| queue.pop().map_or(0, |number: Box<u32>| *number));
        let second = scope.spawn(|| queue.pop().map_or(0, |number: Box<u32>| *number));
        queue.push(Box::new(1));
        queue.push(Box::new(2));
        first.join().unwrap() + second.join().unwrap()
    });
    let mut rest = 0;
    while let Some(number) = queue.pop() {
        rest += *number
    }
    assert_eq!(sum + rest, 3);
}
