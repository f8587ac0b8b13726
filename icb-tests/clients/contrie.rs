//! Two threads and a map.
//!
//! ```toml
//! contrie = "0.1"
//! ```

#[test]
fn two_insertions() {
    let map = contrie::ConMap::new();
    std::thread::scope(|scope| {
        scope.spawn(|| map.insert(1, Box::new(1)));
        scope.spawn(|| drop(map.remove(&2)));
        map.insert(2, Box::new(2));
        assert!(map.get(&1).is_none_or(|pair| **pair.value() == 1));
    });
    assert!(map.get(&1).is_some());
}
