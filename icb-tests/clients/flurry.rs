//! Two insertions.
//!
//! ```toml
//! flurry = "0.5"
//! ```

use std::sync::Arc;

#[test]
fn two_insertions() {
    let map = Arc::new(flurry::HashMap::<u32, u32>::new());
    let theirs = map.clone();
    let thread = std::thread::spawn(move || _ = theirs.pin().insert(1, 10));
    map.pin().insert(2, 20);
    thread.join().unwrap();
    let map = map.pin();
    assert_eq!((map.get(&1), map.get(&2)), (Some(&10), Some(&20)));
}
