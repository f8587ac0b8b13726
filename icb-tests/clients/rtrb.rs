//! One producer, one consumer, one place.
//!
//! ```toml
//! rtrb = "0.3"
//! ```

#[test]
fn in_order() {
    let (mut producer, mut consumer) = rtrb::RingBuffer::new(1);
    let thread = std::thread::spawn(move || producer.push(1).unwrap());
    let first = consumer.pop();
    thread.join().unwrap();
    assert!(first == Ok(1) || consumer.pop() == Ok(1));
}
