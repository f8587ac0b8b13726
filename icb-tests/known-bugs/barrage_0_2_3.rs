//! The end of a channel is told although a message is in it: the queue was empty, and when it is asked whether a sender is left, the last one
//! has sent and gone.
//! Found: the message was sent before the sender went.
//!
//! ```toml
//! barrage = "=0.2.3"
//! ```

#[test]
fn what_was_sent_is_received() {
    let (sender, receiver) = barrage::unbounded::<u32>();
    let thread = std::thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1), "the message was sent before the sender went");
    thread.join().unwrap();
}
