//! Two channels are waited for at once.
//!
//! ```toml
//! futures-concurrency = "7"
//! async-channel = "2"
//! pollster = "0.4"
//! ```

use futures_concurrency::prelude::*;

#[test]
fn join() {
    let (first, one) = async_channel::bounded(1);
    let (second, two) = async_channel::bounded(1);
    let thread = std::thread::spawn(move || {
        first.try_send(1).unwrap();
        second.try_send(2).unwrap();
    });
    let both = pollster::block_on((one.recv(), two.recv()).join());
    assert_eq!(both, (Ok(1), Ok(2)));
    thread.join().unwrap();
}

#[test]
fn race() {
    let (first, one) = async_channel::bounded(1);
    let (second, two) = async_channel::bounded(1);
    let thread = std::thread::spawn(move || drop(first.try_send(1)));
    let other = std::thread::spawn(move || drop(second.try_send(2)));
    let any = pollster::block_on((one.recv(), two.recv()).race());
    assert!(matches!(any, Ok(1 | 2)));
    thread.join().unwrap();
    other.join().unwrap();
}
