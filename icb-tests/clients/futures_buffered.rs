//! Futures that are woken by another thread.
//!
//! ```toml
//! futures-buffered = "0.2"
//! futures = "0.3"
//! pollster = "0.4"
//! ```

use futures::StreamExt;
use futures::channel::oneshot;
use futures_buffered::{FuturesUnordered, FuturesUnorderedBounded};

#[test]
fn bounded() {
    let (sender, receiver) = oneshot::channel();
    let (other_sender, other_receiver) = oneshot::channel();
    let mut futures = FuturesUnorderedBounded::new(2);
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

#[test]
fn dropped_while_woken() {
    let (sender, receiver) = oneshot::channel::<u32>();
    let mut futures = FuturesUnordered::new();
    futures.push(receiver);
    let one = std::thread::spawn(move || sender.send(1));
    let ready = futures::FutureExt::now_or_never(futures.next()).is_some();
    drop(futures);
    assert!(one.join().unwrap().is_ok() || !ready);
}
