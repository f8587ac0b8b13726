//! A queue of those who wait for a lock.
//!
//! ```toml
//! clhlock = "0.2"
//! ```

use clhlock::raw::{MutexNode, spins::Mutex};

#[test]
fn two_additions() {
    let mutex = Mutex::new(0);
    let add = || *mutex.lock_with(MutexNode::new()) += 1;
    std::thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(*mutex.lock_with(MutexNode::new()), 2);
}
