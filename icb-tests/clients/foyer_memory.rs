//! Two fetch, insert and remove the same entry.
//!
//! ```toml
//! foyer-memory = "0.22"
//! ```

use foyer_memory::{Cache, CacheBuilder};

#[test]
fn insert_and_get() {
    let cache: Cache<u32, u32> = CacheBuilder::new(1).with_shards(1).build();
    let theirs = cache.clone();
    let thread = std::thread::spawn(move || {
        theirs.insert(1, 10);
        theirs.remove(&1);
    });
    cache.insert(2, 20);
    assert!(cache.get(&1).is_none_or(|entry| *entry.value() == 10));
    thread.join().unwrap();
    assert!(cache.get(&1).is_none());
}
