//! Two insert, and one is removed.
//!
//! ```toml
//! concurrent-slotmap = "0.2.0-alpha.1"
//! ```

use concurrent_slotmap::SlotMap;
use std::sync::Arc;

#[test]
fn insert_and_remove() {
    let map = Arc::new(SlotMap::new(8));
    let guard = map.pin();
    let first = map.insert(String::from("one"), &guard);
    let theirs = map.clone();
    let thread = std::thread::spawn(move || {
        let guard = theirs.pin();
        assert_eq!(theirs.remove(first, &guard).map(String::as_str), Some("one"));
    });
    let second = map.insert(String::from("two"), &guard);
    assert_eq!(map.get(second, &guard).map(String::as_str), Some("two"));
    drop(guard);
    thread.join().unwrap();
    assert_eq!(map.len(), 1);
}
