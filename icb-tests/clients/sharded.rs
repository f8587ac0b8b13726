//! A map of shards, each behind a lock.
//!
//! ```toml
//! sharded = "0.3"
//! ```

use sharded::ConcurrentHashMap;
use std::sync::Arc;

#[test]
fn insert_and_get() {
    let map = Arc::new(ConcurrentHashMap::<u32, u32>::new());
    let theirs = map.clone();
    let thread = std::thread::spawn(move || theirs.insert(1, 10));
    let old = map.insert(1, 11);
    let theirs = thread.join().unwrap();
    assert!(matches!((old, theirs), (None, Some(11)) | (Some(10), None)));
    assert!(map.get(&1).is_some());
}
