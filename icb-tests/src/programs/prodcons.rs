//! A bounded buffer: one mutex, two condvars, several producers and one consumer.
//!
//! The wrong version wakes with one condvar for both purposes and `notify_one`: the wake-up may go to a thread that
//! cannot use it, and everybody waits.

use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;
use std::collections::VecDeque;

/// How threads wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Producers and consumers wait for the same condvar.
    OneCondvar,
    /// Each side has its own.
    TwoCondvars,
}

#[derive(Debug)]
struct Buffer {
    version: Version,
    capacity: usize,
    items: Mutex<VecDeque<usize>>,
    not_full: Condvar,
    not_empty: Condvar,
}

impl Buffer {
    fn not_empty(&self) -> &Condvar {
        if self.version == Version::OneCondvar { &self.not_full } else { &self.not_empty }
    }

    fn put(&self, item: usize) {
        let mut items = self.items.lock().unwrap();
        while items.len() == self.capacity {
            items = self.not_full.wait(items).unwrap();
        }
        items.push_back(item);
        self.not_empty().notify_one();
    }

    fn take(&self) -> usize {
        let mut items = self.items.lock().unwrap();
        loop {
            if let Some(item) = items.pop_front() {
                self.not_full.notify_one();
                return item;
            }
            items = self.not_empty().wait(items).unwrap();
        }
    }
}

/// `producers` threads put `items` items each, the calling thread takes them all; each arrives once.
pub fn run(version: Version, producers: usize, items: usize, capacity: usize) {
    let buffer = Arc::new(Buffer {
        version,
        capacity,
        items: Mutex::new(VecDeque::new()),
        not_full: Condvar::new(),
        not_empty: Condvar::new(),
    });
    let threads: Vec<_> = (0..producers)
        .map(|producer| {
            let buffer = buffer.clone();
            thread::spawn(move || {
                for item in 0..items {
                    buffer.put(producer * items + item);
                }
            })
        })
        .collect();
    let mut taken: Vec<usize> = (0..producers * items).map(|_| buffer.take()).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..producers * items), "each item arrives once");
}
