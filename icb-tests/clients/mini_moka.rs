//! One thread stores what another one throws away.
//!
//! ```toml
//! mini-moka = "0.10"
//! ```

use mini_moka::sync::Cache;
use std::sync::Arc;

#[test]
fn stored_or_thrown_away() {
    let value = Arc::new(2);
    let cache = Cache::new(10);
    cache.insert(1, Arc::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| cache.insert(1, value.clone()));
        cache.invalidate(&1);
    });
    assert!(cache.get(&1).is_none_or(|value| *value == 2));
    drop(cache);
    assert_eq!(Arc::strong_count(&value), 1);
}
