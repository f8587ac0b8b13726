//! A value is replaced while it is read, and a queue.
//!
//! ```toml
//! sdd = "4"
//! ```

use sdd::{AtomicShared, Guard, Queue, Shared, Tag};
use std::sync::atomic::Ordering::{AcqRel, Acquire};

#[test]
fn read_while_it_is_replaced() {
    let place = AtomicShared::new(Box::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| place.swap((Some(Shared::new(Box::new(2))), Tag::None), AcqRel));
        let guard = Guard::new();
        let number = **place.load(Acquire, &guard).as_ref().unwrap();
        assert!([1, 2].contains(&number));
    });
    let guard = Guard::new();
    assert_eq!(**place.load(Acquire, &guard).as_ref().unwrap(), 2);
}

#[test]
fn each_is_popped_once() {
    let queue = Queue::default();
    let mut sum = std::thread::scope(|scope| {
        scope.spawn(|| queue.push(1));
        let popping = scope.spawn(|| queue.pop().map_or(0, |entry| **entry));
        queue.push(2);
        popping.join().unwrap()
    });
    while let Some(entry) = queue.pop() {
        sum += **entry;
    }
    assert_eq!(sum, 3);
}
