//! A mutex of which one thread takes no lock after all, and a channel.
//!
//! ```toml
//! futures-intrusive = "0.5"
//! pollster = "0.4"
//! ```

use futures_intrusive::channel::shared::channel;
use futures_intrusive::sync::Mutex;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

#[test]
fn one_gives_up() {
    let count = Mutex::new(0, true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut lock = pin!(count.lock());
            _ = lock.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
        scope.spawn(|| pollster::block_on(async { *count.lock().await += 1 }));
        pollster::block_on(async { *count.lock().await += 1 });
    });
    assert_eq!(*count.try_lock().unwrap(), 2);
}

#[test]
fn a_message() {
    let (sender, receiver) = channel::<u32>(1);
    let thread = std::thread::spawn(move || pollster::block_on(sender.send(1)).unwrap());
    assert_eq!(pollster::block_on(receiver.receive()), Some(1));
    assert_eq!(pollster::block_on(receiver.receive()), None);
    thread.join().unwrap();
}
