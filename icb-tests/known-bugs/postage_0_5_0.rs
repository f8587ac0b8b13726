//! `recv` says that the sender has gone although a `send` returned `Ok`: the queue was empty, and when it is asked whether the
//! sender has gone, it has sent and gone.
//! Found: the message was sent before the sender went.
//!
//! ```toml
//! postage = "=0.5.0"
//! futures = "0.3"
//! ```

use futures::executor::block_on;
use postage::prelude::{Sink, Stream};

#[test]
fn what_was_sent_is_received() {
    let (mut sender, mut receiver) = postage::mpsc::channel::<u32>(1);
    let thread = std::thread::spawn(move || block_on(sender.send(1)).unwrap());
    assert_eq!(block_on(receiver.recv()), Some(1), "the message was sent before the sender went");
    thread.join().unwrap();
}
