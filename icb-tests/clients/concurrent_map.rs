//! Two threads insert and remove.
//!
//! ```toml
//! concurrent-map = "5"
//! ```

use concurrent_map::ConcurrentMap;

#[test]
fn one_inserts_and_one_removes() {
    let map = ConcurrentMap::<u32, u32>::new();
    map.insert(1, 10);
    let same = map.clone();
    let other = std::thread::spawn(move || (same.insert(2, 20), same.remove(&1)));
    let removed = map.remove(&1);
    let (none, other_removed) = other.join().unwrap();
    assert!(none.is_none() && removed.is_some() != other_removed.is_some());
    assert_eq!(map.get(&2), Some(20));
    assert_eq!(map.get(&1), None);
}
