//! `insert` puts the entry behind the last node of the list, which may have been taken out of it since.
//! Found: an inserted key is there.
//!
//! ```toml
//! concache = "=0.2.1"
//! ```

use concache::crossbeam::Map;

#[test]
fn inserted_while_another_key_is_removed() {
    let map = Map::with_capacity(1);
    map.insert(1, 1);
    let other = map.clone();
    let thread = std::thread::spawn(move || other.remove(&1));
    map.insert(2, 2);
    thread.join().unwrap();
    assert_eq!(map.get(&2), Some(2), "an inserted key is there");
}
