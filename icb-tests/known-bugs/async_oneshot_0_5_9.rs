//! A sender that waits for the receiver looks whether it is there, says that it waits, and does not look again: a receiver that comes in
//! between has seen nobody wait, and both wait for ever.
//! Found: that never comes.
//!
//! ```toml
//! async-oneshot = "=0.5.9"
//! futures-lite = "2"
//! ```

use futures_lite::future::block_on;

#[test]
fn a_sender_waits_for_a_receiver() {
    let (sender, receiver) = async_oneshot::oneshot::<u32>();
    let thread = std::thread::spawn(move || block_on(sender.wait()).unwrap().send(1).unwrap());
    assert_eq!(block_on(receiver).unwrap(), 1);
    thread.join().unwrap();
}
