//! Two threads and a map.
//!
//! ```toml
//! chashmap = "2"
//! ```

#[test]
fn two_insertions() {
    let map = chashmap::CHashMap::with_capacity(1);
    std::thread::scope(|scope| {
        scope.spawn(|| map.insert(1, Box::new(1)));
        scope.spawn(|| map.upsert(1, || Box::new(5), |number: &mut Box<u32>| **number += 4));
        assert!(map.get(&1).is_none_or(|number| [1, 5].contains(&**number)));
    });
    assert_eq!(map.len(), 1);
    assert!(map.remove(&1).is_some_and(|number| [1, 5].contains(&*number)));
}
