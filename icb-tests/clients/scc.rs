//! A map and a stack.
//!
//! ```toml
//! scc = "3"
//! ```

use std::sync::Arc;

#[test]
fn a_map() {
    let map = Arc::new(scc::HashMap::<u32, u32>::new());
    let theirs = map.clone();
    let thread = std::thread::spawn(move || theirs.insert_sync(1, 10).unwrap());
    map.insert_sync(2, 20).unwrap();
    thread.join().unwrap();
    assert_eq!(map.read_sync(&1, |_, value| *value), Some(10));
}

#[test]
fn a_stack() {
    let stack = Arc::new(scc::Stack::<u32>::default());
    let theirs = stack.clone();
    let thread = std::thread::spawn(move || {
        theirs.push(1);
        theirs.pop().is_some()
    });
    stack.push(2);
    assert!(stack.pop().is_some() && thread.join().unwrap());
}
