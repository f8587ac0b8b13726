//! Two threads want one value, which is made once.
//!
//! ```toml
//! quick_cache = "0.6"
//! ```

use std::sync::Arc;

#[test]
fn made_once() {
    let cache = Arc::new(quick_cache::sync::Cache::<u32, u32>::new(4));
    let theirs = cache.clone();
    let make = |value: u32| move || Ok::<_, ()>(value);
    let thread = std::thread::spawn(move || theirs.get_or_insert_with(&1, make(10)).unwrap());
    assert_eq!(cache.get_or_insert_with(&1, make(20)).unwrap(), thread.join().unwrap());
}
