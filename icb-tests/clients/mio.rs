//! A poll that another thread wakes through an `eventfd`.
//!
//! ```toml
//! mio = { version = "1", features = ["os-poll"] }
//! ```

use mio::{Events, Poll, Token, Waker};

#[test]
fn each_wake_is_seen() {
    let mut poll = Poll::new().unwrap();
    let waker = Waker::new(poll.registry(), Token(7)).unwrap();
    let mut events = Events::with_capacity(4);
    let thread = std::thread::spawn(move || {
        waker.wake().unwrap();
        waker
    });
    poll.poll(&mut events, None).unwrap();
    assert!(events.iter().all(|event| event.token() == Token(7)));
    drop(thread.join().unwrap());
}
