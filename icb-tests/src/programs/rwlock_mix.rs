//! Readers and a writer of two numbers that belong together.
//!
//! The wrong version lets the writer go between the two writes, by taking the lock twice; readers then see half of
//! the change.

use icb_std::sync::{Arc, RwLock};
use icb_std::thread;

/// How the writer writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// One lock for each number.
    InTwoParts,
    /// Both under one lock.
    AtOnce,
}

/// `readers` threads read and the calling thread writes, `rounds` times each.
pub fn run(version: Version, readers: usize, rounds: usize) {
    let pair = Arc::new(RwLock::new((0, 0)));
    let threads: Vec<_> = (0..readers)
        .map(|_| {
            let pair = pair.clone();
            thread::spawn(move || {
                for _ in 0..rounds {
                    let (left, right) = *pair.read().unwrap();
                    assert_eq!(left, right, "half of a change");
                }
            })
        })
        .collect();
    for _ in 0..rounds {
        let mut guard = pair.write().unwrap();
        guard.0 += 1;
        if version == Version::InTwoParts {
            drop(guard);
            guard = pair.write().unwrap();
        }
        guard.1 += 1;
    }
    for thread in threads {
        thread.join().unwrap();
    }
}
