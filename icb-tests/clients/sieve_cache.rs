//! A cache of one entry, used by two threads.
//!
//! ```toml
//! sieve-cache = "1"
//! ```

use sieve_cache::ShardedSieveCache;

#[test]
fn a_key_has_its_own_value() {
    let cache = ShardedSieveCache::with_shards(2, 1).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| cache.insert(1, 10));
        scope.spawn(|| cache.insert(2, 20));
        assert!(cache.get(&1).is_none_or(|value| value == 10));
    });
    assert_eq!((cache.get(&1), cache.get(&2)), (Some(10), Some(20)));
}
