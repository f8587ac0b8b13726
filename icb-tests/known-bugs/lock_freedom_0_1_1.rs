//! `Queue::pop` takes the first node from `front`, which is written and read `Relaxed`: the item in it, which another thread
//! has pushed, is read without anything that orders the two. The crate is a fork of lockfree, which has this as well.
//! Found: data race.
//!
//! ```toml
//! lock_freedom = "=0.1.1"
//! ```

use std::sync::Arc;

#[test]
fn each_pushes_and_pops() {
    let queue = Arc::new(lock_freedom::queue::Queue::new());
    let theirs = queue.clone();
    let thread = std::thread::spawn(move || {
        theirs.push(1);
        theirs.pop()
    });
    queue.push(2);
    queue.pop();
    thread.join().unwrap();
}
