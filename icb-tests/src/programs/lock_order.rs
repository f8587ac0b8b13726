//! Deadlocks by the order in which locks are taken: two accounts, and philosophers at a table.

use icb_std::sync::{Arc, Mutex};
use icb_std::thread;

/// In which order two locks are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Each in the order of its own business: deadlock.
    AsItComes,
    /// The lower one first, whoever takes them.
    Ordered,
}

fn transfer(accounts: &[Mutex<i64>; 2], version: Version, from: usize, to: usize) {
    let (first, second) = if version == Version::Ordered && from > to { (to, from) } else { (from, to) };
    let mut first_guard = accounts[first].lock().unwrap();
    let mut second_guard = accounts[second].lock().unwrap();
    let (source, target) = if first == from {
        (&mut *first_guard, &mut *second_guard)
    } else {
        (&mut *second_guard, &mut *first_guard)
    };
    *source -= 10;
    *target += 10;
}

/// Two transfers in opposite directions at the same time; one is made by the calling thread.
pub fn transfers(version: Version) {
    let accounts = Arc::new([Mutex::new(100), Mutex::new(100)]);
    let theirs = accounts.clone();
    let thread = thread::spawn(move || transfer(&theirs, version, 1, 0));
    transfer(&accounts, version, 0, 1);
    thread.join().unwrap();
    assert_eq!(*accounts[0].lock().unwrap() + *accounts[1].lock().unwrap(), 200);
}

/// `count` philosophers, each with a thread of its own, take the left and the right fork and eat once.
pub fn philosophers(version: Version, count: usize) {
    let forks: Arc<[Mutex<()>]> = (0..count).map(|_| Mutex::new(())).collect();
    let threads: Vec<_> = (0..count)
        .map(|left| {
            let forks = forks.clone();
            thread::spawn(move || {
                let right = (left + 1) % forks.len();
                let (first, second) = if version == Version::Ordered {
                    (left.min(right), left.max(right))
                } else {
                    (left, right)
                };
                let _first = forks[first].lock().unwrap();
                let _second = forks[second].lock().unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
