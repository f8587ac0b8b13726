//! A cache whose changes are done by a thread of its own.
//!
//! ```toml
//! stretto = "0.9"
//! ```

use stretto::Cache;

#[test]
fn insert_and_get() {
    let cache = Cache::<u32, u32>::new(16, 4).unwrap();
    cache.insert(1, 10, 1);
    assert!(cache.get(&1).is_none_or(|value| *value.value() == 10));
}
