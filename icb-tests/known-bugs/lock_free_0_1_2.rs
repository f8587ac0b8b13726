//! `Stack::pop` reads the next node out of one that another thread may have taken and freed.
//! Found: memory is freed after it has been read.
//!
//! ```toml
//! lock-free = "=0.1.2"
//! ```

use lock_free::Stack;
use std::sync::Arc;

#[test]
fn two_take_from_it() {
    let stack = Arc::new(Stack::new());
    stack.push(1);
    stack.push(2);
    let other = stack.clone();
    let thread = std::thread::spawn(move || other.pop());
    let one = stack.pop();
    assert_ne!(one, thread.join().unwrap());
}
