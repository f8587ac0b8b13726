//! The last sender that goes takes the list of those who wait out of the lock, and counts its nodes down with relaxed operations; so does a
//! receiver that gives up, and frees its node.
//! Found: data race: .
//!
//! ```toml
//! mpmc-async = "=0.1.7"
//! futures-lite = "2"
//! ```

use futures_lite::future::{block_on, poll_once};

#[test]
fn a_receiver_gives_up_while_the_sender_goes() {
    let (sender, receiver) = mpmc_async::channel::<u32>(1);
    let thread = std::thread::spawn(move || drop(sender));
    assert!(block_on(poll_once(receiver.recv())).is_none_or(|received| received.is_err()));
    thread.join().unwrap();
}
