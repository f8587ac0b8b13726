//! A receiver that is polled again writes its waker over the one before, while the sender, which has seen that there is one, reads it to wake it.
//! Found: data race: .
//!
//! ```toml
//! async-oneshot = "=0.5.9"
//! futures-lite = "2"
//! ```

use futures_lite::future::{block_on, poll_once};

#[test]
fn a_receiver_is_polled_twice() {
    let (mut sender, mut receiver) = async_oneshot::oneshot::<u32>();
    let thread = std::thread::spawn(move || sender.send(1).unwrap());
    if block_on(poll_once(&mut receiver)).is_none() {
        block_on(poll_once(&mut receiver));
    }
    thread.join().unwrap();
}
