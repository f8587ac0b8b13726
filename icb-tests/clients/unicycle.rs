//! Futures that are woken by another thread.
//!
//! ```toml
//! unicycle = "0.10"
//! futures = "0.3"
//! pollster = "0.4"
//! ```

use futures::channel::oneshot;
use unicycle::FuturesUnordered;

#[test]
fn both_are_done() {
    let (sender, receiver) = oneshot::channel();
    let (other_sender, other_receiver) = oneshot::channel();
    let mut futures = FuturesUnordered::new();
    futures.push(receiver);
    futures.push(other_receiver);
    let one = std::thread::spawn(move || sender.send(1).unwrap());
    other_sender.send(2).unwrap();
    let sum = pollster::block_on(async {
        futures.next().await.unwrap().unwrap() + futures.next().await.unwrap().unwrap()
    });
    assert_eq!(sum, 3);
    one.join().unwrap();
}
