//! A waker is registered while another thread wakes.
//!
//! ```toml
//! atomic-waker = "1"
//! pollster = "0.4"
//! ```

use atomic_waker::AtomicWaker;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;

#[test]
fn no_wake_up_is_lost() {
    let (waker, flag) = (AtomicWaker::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            flag.store(true, SeqCst);
            waker.wake();
        });
        pollster::block_on(poll_fn(|context| {
            waker.register(context.waker());
            if flag.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        }));
    });
}
