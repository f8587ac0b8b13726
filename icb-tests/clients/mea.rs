//! A mutex, a semaphore, a latch, and a channel that is bounded, all asynchronous.
//!
//! ```toml
//! mea = "0.6"
//! pollster = "0.4"
//! ```

use mea::latch::Latch;
use mea::mutex::Mutex;
use mea::semaphore::Semaphore;
use std::sync::Arc;

#[test]
fn the_lock_excludes() {
    let count = Arc::new(Mutex::new(0));
    let theirs = count.clone();
    let thread = std::thread::spawn(move || *pollster::block_on(theirs.lock()) += 1);
    *pollster::block_on(count.lock()) += 1;
    thread.join().unwrap();
    assert_eq!(*pollster::block_on(count.lock()), 2);
}

#[test]
fn one_permit_for_two() {
    let permits = Arc::new(Semaphore::new(1));
    let theirs = permits.clone();
    let thread = std::thread::spawn(move || drop(pollster::block_on(theirs.acquire(1))));
    drop(pollster::block_on(permits.acquire(1)));
    thread.join().unwrap();
    assert_eq!(permits.available_permits(), 1);
}

#[test]
fn a_latch_of_two() {
    let latch = Arc::new(Latch::new(2));
    let theirs = latch.clone();
    let thread = std::thread::spawn(move || theirs.count_down());
    latch.count_down();
    pollster::block_on(latch.wait());
    assert_eq!(latch.count(), 0);
    thread.join().unwrap();
}

#[test]
fn bounded() {
    let (sender, mut receiver) = mea::mpsc::bounded::<u32>(1);
    let thread = std::thread::spawn(move || {
        pollster::block_on(sender.send(1)).unwrap();
        pollster::block_on(sender.send(2)).unwrap();
    });
    assert_eq!(pollster::block_on(receiver.recv()), Ok(1));
    assert_eq!(pollster::block_on(receiver.recv()), Ok(2));
    assert!(pollster::block_on(receiver.recv()).is_err());
    thread.join().unwrap();
}

#[test]
fn once() {
    static CELL: mea::once::OnceCell<u32> = mea::once::OnceCell::new();
    let thread = std::thread::spawn(|| *pollster::block_on(CELL.get_or_init(async || 1)));
    assert_eq!(*pollster::block_on(CELL.get_or_init(async || 1)), 1);
    assert_eq!(thread.join().unwrap(), 1);
}
