//! Channels between executors, and a set of futures whose tasks wake themselves.
//!
//! ```toml
//! futures = "0.3"
//! ```

use futures::SinkExt;
use futures::channel::{mpsc, oneshot};
use futures::executor::block_on;
use futures::stream::{FuturesUnordered, StreamExt};
use std::thread;

#[test]
fn a_value_is_received() {
    let (sender, receiver) = oneshot::channel();
    let thread = thread::spawn(move || sender.send(3).unwrap());
    assert_eq!(block_on(receiver), Ok(3));
    thread.join().unwrap();
}

#[test]
fn two_send() {
    let (sender, receiver) = mpsc::unbounded();
    let other = sender.clone();
    let threads = [
        thread::spawn(move || sender.unbounded_send(1).unwrap()),
        thread::spawn(move || other.unbounded_send(2).unwrap()),
    ];
    let mut values = block_on(receiver.collect::<Vec<i32>>());
    values.sort_unstable();
    assert_eq!(values, [1, 2]);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_sender_waits() {
    let (mut sender, receiver) = mpsc::channel(0);
    let thread = thread::spawn(move || {
        block_on(async {
            sender.send(1).await.unwrap();
            sender.send(2).await.unwrap();
        });
    });
    assert_eq!(block_on(receiver.collect::<Vec<i32>>()), [1, 2]);
    thread.join().unwrap();
}

#[test]
fn all_of_a_set_come() {
    let ((first, a), (second, b)) = (oneshot::channel(), oneshot::channel());
    let threads = [thread::spawn(move || first.send(1).unwrap()), thread::spawn(move || second.send(2).unwrap())];
    let all: FuturesUnordered<_> = [a, b].into_iter().collect();
    let sum = block_on(all.map(Result::unwrap).fold(0, |sum, value| async move { sum + value }));
    assert_eq!(sum, 3);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
