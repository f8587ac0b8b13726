//! An entry that has been removed comes back: a thread that moves the entries to a larger table goes on with a pointer that it has
//! loaded before the removal, although another one has closed that place in the meantime.
//! Found: a removed key is there again.
//!
//! ```toml
//! cht = "=0.5.0"
//! ```

use std::sync::Arc;

#[test]
fn what_is_removed_stays_removed() {
    let map = Arc::new(cht::HashMap::with_capacity(2));
    (0..2).for_each(|key| drop(map.insert(key, Box::new(key))));
    let same = map.clone();
    let thread = std::thread::spawn(move || (2..5).for_each(|key| drop(same.insert(key, Box::new(key)))));
    assert_eq!(map.remove_entry_if_and(&0, |_, _| true, |_, value| **value), Some(0));
    map.insert(9, Box::new(9));
    thread.join().unwrap();
    assert!(map.get_and(&0, |value| **value).is_none(), "a removed key is there again");
}
