//! One inserts and the other removes.
//!
//! ```toml
//! lockfree-cuckoohash = "0.1"
//! ```

use lockfree_cuckoohash::{LockFreeCuckooHash, pin};

#[test]
fn removed_once() {
    let map = LockFreeCuckooHash::<u32, u32>::with_capacity(4);
    map.insert(1, 10);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| map.insert(2, 20) && map.remove(&1));
        let removed = map.remove(&1);
        assert!(removed != other.join().unwrap());
    });
    let guard = pin();
    assert_eq!(map.get(&2, &guard), Some(&20));
    assert_eq!(map.get(&1, &guard), None);
}
