//! Two threads push, and one pops.
//!
//! ```toml
//! kovan-queue = "0.2"
//! ```

use kovan_queue::array_queue::ArrayQueue;
use kovan_queue::seg_queue::SegQueue;

#[test]
fn segments() {
    let queue = SegQueue::new();
    std::thread::scope(|scope| {
        for number in [1, 2] {
            let queue = &queue;
            scope.spawn(move || queue.push(Box::new(number)));
        }
        let first = queue.pop();
        assert!(first.as_ref().is_none_or(|number| [1, 2].contains(&**number)));
        if let Some(first) = first {
            queue.push(first)
        }
    });
    let mut all = [*queue.pop().unwrap(), *queue.pop().unwrap()];
    all.sort();
    assert_eq!(all, [1, 2]);
    assert!(queue.pop().is_none());
}

#[test]
fn an_array() {
    let queue = ArrayQueue::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            queue.push(Box::new(1)).unwrap();
            queue.push(Box::new(2)).unwrap();
        });
        scope.spawn(|| {
            if let Some(number) = queue.pop() {
                assert_eq!(*number, 1);
                queue.push(Box::new(3)).unwrap();
            }
        });
    });
    let mut sum = 0;
    while let Some(number) = queue.pop() {
        sum += *number
    }
    assert!(sum == 3 || sum == 5);
}
