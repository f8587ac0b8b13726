//! `unreachable!` in the drop of a receiver that has been polled.
//! (With frees checked another bug is found before: nothing orders the free after the receiver has used the channel last.)
//! Found: panic: internal error: entered unreachable code.
//! Left: use after free: AtomicU8.
//! Options: --no-accesses --check-frees=false
//!
//! ```toml
//! oneshot = "=0.1.10"
//! ```
//!
//! Mended:
//!
//! ```toml
//! oneshot = "=0.1.12"
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
