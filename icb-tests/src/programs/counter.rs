//! A counter that threads increment: with a load and a store (updates are lost), with an atomic increment, and under
//! a mutex.

use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;

/// How it is incremented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// A load, then a store: what happens in between is overwritten.
    LoadThenStore,
    /// One atomic operation.
    FetchAdd,
    /// A load and a store under a mutex.
    Mutex,
}

/// `threads` threads increment `rounds` times each; none of it may be lost.
pub fn run(version: Version, threads: usize, rounds: usize) {
    let counter = Arc::new((AtomicUsize::new(0), Mutex::new(())));
    let spawned: Vec<_> = (0..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                let (value, mutex) = &*counter;
                for _ in 0..rounds {
                    if version == Version::FetchAdd {
                        value.fetch_add(1, SeqCst);
                        continue;
                    }
                    let _guard = (version == Version::Mutex).then(|| mutex.lock().unwrap());
                    let read = value.load(SeqCst);
                    value.store(read + 1, SeqCst);
                }
            })
        })
        .collect();
    for thread in spawned {
        thread.join().unwrap();
    }
    assert_eq!(counter.0.load(SeqCst), threads * rounds, "lost update");
}
