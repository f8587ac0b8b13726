//! A waker that a future is polled with later takes the place of the first, but is counted once and given up by both who hold the place.
//! Found: use after free: .
//!
//! ```toml
//! asyncnal = "=0.3.1"
//! futures-lite = "2"
//! ```

use asyncnal::{Event, EventSetter};
use futures_lite::future::{block_on, poll_once};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn two_wakers() {
    let event = Event::new();
    std::thread::scope(|scope| {
        scope.spawn(|| event.set_one());
        let mut waiting = event.wait();
        let waker = Waker::from(Arc::new(Nothing));
        let first = std::pin::Pin::new(&mut waiting);
        if Future::poll(first, &mut Context::from_waker(&waker)).is_pending() {
            block_on(poll_once(&mut waiting));
        }
    });
}
