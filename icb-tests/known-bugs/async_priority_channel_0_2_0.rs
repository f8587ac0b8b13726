//! The end of a channel is told although a message is in it: `try_recv` reads the word that counts messages and says whether the channel
//! is closed twice, and the sender has sent and gone in between.
//! Found: the message was sent before the sender went.
//!
//! ```toml
//! async-priority-channel = "=0.2.0"
//! futures-lite = "2"
//! ```

use futures_lite::future::block_on;

#[test]
fn what_was_sent_is_received() {
    let (sender, receiver) = async_priority_channel::unbounded::<u32, u32>();
    let thread = std::thread::spawn(move || sender.try_send(1, 0).unwrap());
    assert_eq!(block_on(receiver.recv()), Ok((1, 0)), "the message was sent before the sender went");
    thread.join().unwrap();
}
