//! Programs that do little but access plain memory. They know nothing of icb.

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};
use std::thread;

/// Eight words, copied as a whole.
type Message = [u64; 8];

/// One producer, one consumer, two places.
struct Ring {
    places: [UnsafeCell<Message>; 2],
    written: AtomicUsize,
    read: AtomicUsize,
}

// SAFETY: a place is the producer's until `written` says otherwise, and then the consumer's until `read` does.
unsafe impl Sync for Ring {}

/// Sends `n` messages through a ring.
pub(crate) fn ring(n: usize) {
    let places = [UnsafeCell::new([0; 8]), UnsafeCell::new([0; 8])];
    let ring = Arc::new(Ring { places, written: AtomicUsize::new(0), read: AtomicUsize::new(0) });
    let theirs = ring.clone();
    let producer = thread::spawn(move || {
        for index in 0..n {
            while index >= theirs.read.load(Acquire) + 2 {
                thread::yield_now();
            }
            // SAFETY: see above.
            unsafe { *theirs.places[index % 2].get() = [index as u64; 8] };
            theirs.written.store(index + 1, Release);
        }
    });
    for index in 0..n {
        while ring.written.load(Acquire) <= index {
            thread::yield_now();
        }
        // SAFETY: see above.
        let message = unsafe { *ring.places[index % 2].get() };
        assert_eq!(message, [index as u64; 8]);
        ring.read.store(index + 1, Release);
    }
    producer.join().unwrap();
}

/// Two threads fill and sum up a table of `n` words behind a lock, word by word, three times each.
pub(crate) fn table(n: usize) {
    let table = Arc::new(Mutex::new(vec![0u64; n]));
    let done = Arc::new(AtomicUsize::new(0));
    let work = |table: Arc<Mutex<Vec<u64>>>, done: Arc<AtomicUsize>| {
        for round in 0..3 {
            let mut table = table.lock().unwrap();
            for word in table.iter_mut() {
                *word += round;
            }
            done.fetch_add(table.iter().sum::<u64>() as usize, Relaxed);
        }
    };
    let (theirs, sum) = (table.clone(), done.clone());
    let other = thread::spawn(move || work(theirs, sum));
    work(table, done);
    other.join().unwrap();
}
