//! The end of a channel is told although a message is in it: the queue was empty, and when it is asked whether the sender has gone, it
//! has sent and gone.
//! Found: the message was sent before the sender went.
//!
//! ```toml
//! npnc = "=0.2.1"
//! ```

use npnc::{ConsumeError, bounded};
use std::thread;

#[test]
fn what_was_sent_is_received() {
    let (producer, consumer) = bounded::spsc::channel::<u32>(2);
    let thread = thread::spawn(move || producer.produce(1).unwrap());
    loop {
        match consumer.consume() {
            Ok(value) => break assert_eq!(value, 1),
            Err(ConsumeError::Empty) => thread::yield_now(),
            Err(ConsumeError::Disconnected) => panic!("the message was sent before the sender went"),
        }
    }
    thread.join().unwrap();
}
