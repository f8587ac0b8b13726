//! A queue of those who wait for a lock.
//!
//! ```toml
//! mcslock = "0.4"
//! ```

use mcslock::raw::{MutexNode, spins::Mutex};

#[test]
fn two_additions() {
    let mutex = Mutex::new(0);
    let add = || {
        let mut node = MutexNode::new();
        mutex.lock_with_then(&mut node, |number| *number += 1);
    };
    std::thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
        add();
    });
    assert_eq!(mutex.into_inner(), 3);
}
