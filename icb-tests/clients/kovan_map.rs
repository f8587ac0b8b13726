//! A map whose buckets are lists that are given back by kovan.
//!
//! ```toml
//! kovan-map = "0.2"
//! ```

use kovan_map::HopscotchMap;
use std::sync::Arc;

#[test]
fn both_entries_are_there() {
    let map = Arc::new(HopscotchMap::<u32, u32>::with_capacity(32));
    let other = map.clone();
    let thread = std::thread::spawn(move || {
        other.insert(1, 10);
        other.remove(&3)
    });
    map.insert(2, 20);
    map.insert(3, 30);
    let removed = thread.join().unwrap();
    assert_eq!(map.get(&1), Some(10));
    assert_eq!(map.get(&2), Some(20));
    assert_eq!(map.get(&3), if removed.is_some() { None } else { Some(30) });
}
