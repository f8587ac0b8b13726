//! Two insertions under one key of a map whose hashing is random.
//!
//! ```toml
//! papaya = "0.2"
//! ```

use std::sync::Arc;

#[test]
fn one_of_two_insertions_is_first() {
    let map = Arc::new(papaya::HashMap::with_capacity(4));
    let theirs = map.clone();
    let thread = std::thread::spawn(move || theirs.pin().insert(1, 10).is_some());
    let replaced = map.pin().insert(1, 20).is_some();
    assert_ne!(replaced, thread.join().unwrap());
}
