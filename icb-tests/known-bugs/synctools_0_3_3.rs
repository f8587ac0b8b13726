//! A writer waits for ever for a lock that is free: it saw another writer, and so left no mark; that one has gone, a reader has come, and the
//! writer sleeps all the same. The reader finds no mark when it leaves, and wakes nobody.
//! Found: livelock: .
//!
//! ```toml
//! synctools = "=0.3.3"
//! ```

use std::sync::Arc;
use synctools::rwlock::RwLock;

#[test]
fn two_write_and_one_reads() {
    let lock = Arc::new(RwLock::new(0));
    let (written, read) = (lock.clone(), lock.clone());
    let writer = std::thread::spawn(move || *written.write() += 1);
    let reader = std::thread::spawn(move || *read.read());
    *lock.write() += 1;
    writer.join().unwrap();
    assert!(reader.join().unwrap() <= 2);
}
