//! Two threads insert into a map that readers look into without a lock.
//!
//! ```toml
//! dark-std = "0.2"
//! ```

use dark_std::sync::SyncHashMap;

#[test]
fn what_is_inserted_is_there() {
    let map = SyncHashMap::new();
    std::thread::scope(|scope| {
        scope.spawn(|| map.insert(1, Box::new(10)));
        map.insert(2, Box::new(20));
        assert!(map.get(&1).is_none_or(|value| **value == 10));
    });
    assert_eq!(map.get(&1).map(|value| **value), Some(10));
    assert_eq!(map.len(), 2);
}
