//! `recv_async` says that the sender has gone although a `send` returned `Ok`.
//! Found: the message was sent before the sender went.
//!
//! ```toml
//! flume = "=0.10.3"
//! ```
//!
//! Mended:
//!
//! ```toml
//! flume = "=0.11.1"
//! ```

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn what_was_sent_is_received() {
    let (sender, receiver) = flume::unbounded();
    let thread = std::thread::spawn(move || sender.send(7).unwrap());
    let waker = Waker::from(Arc::new(Nobody));
    let mut future = receiver.recv_async();
    for _ in 0..2 {
        if let Poll::Ready(result) = Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            assert_eq!(result, Ok(7), "the message was sent before the sender went");
            break;
        }
    }
    thread.join().unwrap();
}
