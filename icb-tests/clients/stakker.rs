//! An actor runtime of one thread, which others wake through a tree of bits.
//!
//! ```toml
//! stakker = "0.2"
//! ```

use stakker::Stakker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Instant;

#[test]
fn each_wake_is_seen() {
    let mut stakker = Stakker::new(Instant::now());
    let (sender, receiver) = channel();
    stakker.set_poll_waker(move || sender.send(()).unwrap());
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let ready = Arc::new(AtomicBool::new(false));
            let seen = Arc::new(AtomicBool::new(false));
            let (ready_too, seen_too) = (ready.clone(), seen.clone());
            let waker = stakker.waker(move |_, _| seen_too.store(ready_too.load(Relaxed), Relaxed));
            let thread = std::thread::spawn(move || {
                ready.store(true, Relaxed);
                waker.wake();
                waker
            });
            (thread, seen)
        })
        .collect();
    while threads.iter().any(|(_, seen)| !seen.load(Relaxed)) {
        receiver.recv().unwrap();
        stakker.poll_wake();
    }
    for (thread, _) in threads {
        drop(thread.join().unwrap());
    }
}
