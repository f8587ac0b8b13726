//! A producer waits for the one before it with relaxed loads, and then lets consumers read up to its own place: nothing says that what the
//! one before has written is there.
//! Found: data race: .
//!
//! ```toml
//! magnetic = "=2.5.2"
//! ```

use magnetic::buffer::dynamic::DynamicBuffer;
use magnetic::mpmc::mpmc_queue;
use magnetic::{Consumer, Producer};
use std::thread;

#[test]
fn two_producers() {
    let (producer, consumer) = mpmc_queue(DynamicBuffer::new(2).unwrap());
    let another = producer.clone();
    let threads = [
        thread::spawn(move || producer.push(Box::new(1)).unwrap()),
        thread::spawn(move || another.push(Box::new(2)).unwrap()),
    ];
    assert_eq!(*consumer.pop().unwrap() + *consumer.pop().unwrap(), 3);
    for thread in threads {
        thread.join().unwrap();
    }
}
