//! An entry is taken by another thread.
//!
//! ```toml
//! sharded-slab = "0.1"
//! ```

#[test]
fn insert_and_take() {
    let slab = sharded_slab::Slab::new();
    let key = slab.insert(5).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(slab.take(key), Some(5)));
        let seen = slab.get(key).map(|entry| *entry);
        assert!(seen.is_none() || seen == Some(5));
    });
    assert!(slab.get(key).is_none());
}
