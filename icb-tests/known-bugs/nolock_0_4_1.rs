//! The end of a channel is told although a message is in it: the queue was empty, and when it is asked whether the sender has gone, it
//! has sent and gone.
//! Found: the message was sent before the sender went.
//!
//! ```toml
//! nolock = "=0.4.1"
//! ```

use nolock::queues::{DequeueError, mpmc::bounded::scq};
use std::thread;

#[test]
fn what_was_sent_is_received() {
    let (receiver, sender) = scq::queue::<u32>(2);
    let thread = thread::spawn(move || sender.try_enqueue(1).unwrap());
    loop {
        match receiver.try_dequeue() {
            Ok(value) => break assert_eq!(value, 1),
            Err(DequeueError::Empty) => thread::yield_now(),
            Err(DequeueError::Closed) => panic!("the message was sent before the sender went"),
        }
    }
    thread.join().unwrap();
}
