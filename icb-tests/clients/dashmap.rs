//! Two threads insert under one key.
//!
//! ```toml
//! dashmap = "6"
//! ```

#[test]
fn one_entry() {
    let map = dashmap::DashMap::with_shard_amount(2);
    std::thread::scope(|scope| {
        scope.spawn(|| *map.entry(1).or_insert(0) += 1);
        scope.spawn(|| *map.entry(1).or_insert(0) += 1);
    });
    assert_eq!(*map.get(&1).unwrap(), 2);
}
