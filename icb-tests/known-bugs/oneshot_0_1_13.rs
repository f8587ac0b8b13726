//! The drop of a receiver that has been polled takes the word that it has just written itself for the sender's last one, and frees
//! the channel while the sender still goes on. The versions before have this as well.
//! Found: use after free: .
//!
//! ```toml
//! oneshot = "=0.1.13"
//! ```

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_polled_receiver_goes_while_a_value_is_sent() {
    let (sender, mut receiver) = oneshot::channel::<Box<u64>>();
    let waker = Waker::from(Arc::new(Nobody));
    assert!(matches!(Pin::new(&mut receiver).poll(&mut Context::from_waker(&waker)), Poll::Pending));
    let thread = std::thread::spawn(move || drop(sender.send(Box::new(1))));
    drop(receiver);
    thread.join().unwrap();
}
