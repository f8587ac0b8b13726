//! A map that keeps what it was given first.
//!
//! ```toml
//! memo-map = "0.3"
//! ```

#[test]
fn the_first_one_stays() {
    let map = memo_map::MemoMap::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| *map.get_or_insert(&1, || 10));
        let ours = *map.get_or_insert(&1, || 20);
        assert_eq!(other.join().unwrap(), ours);
    });
    assert_eq!(map.len(), 1);
}
