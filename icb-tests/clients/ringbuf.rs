//! One producer, one consumer.
//!
//! ```toml
//! ringbuf = "0.4"
//! ```

use ringbuf::HeapRb;
use ringbuf::traits::{Consumer, Producer, Split};

#[test]
fn in_order() {
    let (mut producer, mut consumer) = HeapRb::new(2).split();
    let thread = std::thread::spawn(move || (producer.try_push(1).unwrap(), producer.try_push(2).unwrap()));
    let first = consumer.try_pop();
    assert!(first.is_none() || first == Some(1));
    thread.join().unwrap();
    assert_eq!(consumer.pop_iter().last(), Some(2));
}
