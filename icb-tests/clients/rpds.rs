//! Threads that change persistent collections which they share.
//!
//! ```toml
//! rpds = "1"
//! ```

#[test]
fn everybody_has_a_version() {
    let vector = rpds::Vector::new_sync().push_back(1).push_back(2);
    let map = rpds::HashTrieMap::new_sync().insert(1, vector.clone());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ours = vector.set(0, 7).unwrap();
            assert_eq!((ours[0], ours[1]), (7, 2));
        });
        let ours = map.insert(2, vector.push_back(3));
        assert_eq!((ours.size(), ours[&2].len(), ours[&1].len()), (2, 3, 2));
    });
    assert_eq!((vector.len(), map.size()), (2, 1));
}
