//! An entry is waited for and inserted.
//!
//! ```toml
//! waitmap = "1"
//! pollster = "0.4"
//! ```

use std::sync::Arc;
use waitmap::WaitMap;

#[test]
fn inserted_while_waiting() {
    let map = Arc::new(WaitMap::<String, u32>::new());
    let theirs = map.clone();
    let thread = std::thread::spawn(move || drop(theirs.insert("one".into(), 1)));
    let value = pollster::block_on(map.wait("one")).map(|entry| *entry.value());
    assert_eq!(value, Some(1));
    thread.join().unwrap();
}
