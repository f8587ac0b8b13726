//! `read_blocking` waits once and not in a loop, so that a condition variable which wakes for no reason ends it without anything read.
//! Found: something is read.
//!
//! ```toml
//! rb = "=0.4.1"
//! ```

use rb::{RB, RbConsumer, RbProducer, SpscRb};

#[test]
fn reading_waits_for_something() {
    let ring = SpscRb::new(1);
    let (producer, consumer) = (ring.producer(), ring.consumer());
    let thread = std::thread::spawn(move || producer.write(&[1]).unwrap());
    assert_eq!(consumer.read_blocking(&mut [0]), Some(1), "something is read");
    thread.join().unwrap();
}
