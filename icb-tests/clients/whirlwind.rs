//! A map of shards for tasks.
//!
//! ```toml
//! whirlwind = "0.1"
//! pollster = "0.4"
//! ```

use whirlwind::ShardMap;

#[test]
fn insert_and_remove() {
    let map = ShardMap::<u32, u32>::with_shards(2);
    let theirs = map.clone();
    let thread = std::thread::spawn(move || pollster::block_on(theirs.insert(1, 10)));
    let removed = pollster::block_on(map.remove(&1));
    assert_eq!(thread.join().unwrap(), None);
    assert_eq!(pollster::block_on(map.contains_key(&1)), removed.is_none());
}
