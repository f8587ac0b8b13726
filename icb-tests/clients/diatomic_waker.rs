//! A task waits for a flag, and two threads say that it is set.
//!
//! ```toml
//! diatomic-waker = "0.2"
//! pollster = "0.4"
//! ```

use diatomic_waker::WakeSink;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn it_is_seen() {
    let mut sink = WakeSink::new();
    let count = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (source, count) = (sink.source(), count.clone());
            std::thread::spawn(move || {
                count.fetch_add(1, Relaxed);
                source.notify();
            })
        })
        .collect();
    pollster::block_on(sink.wait_until(|| (count.load(Relaxed) == 2).then_some(())));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
