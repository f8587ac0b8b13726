//! Two threads remove one entry, and both get it: `remove` takes an exchange that fails for one that was overtaken by an insertion.
//! Found: an entry is removed once.
//!
//! ```toml
//! leapfrog = { version = "=0.3.3", features = ["stable_alloc"] }
//! ```

use leapfrog::LeapMap;
use std::sync::Arc;

#[test]
fn an_entry_is_removed_once() {
    let map = Arc::new(LeapMap::<u32, u32>::new());
    map.insert(1, 10);
    let same = map.clone();
    let thread = std::thread::spawn(move || same.remove(&1));
    let removed = [map.remove(&1), thread.join().unwrap()];
    assert_eq!(removed.iter().flatten().count(), 1, "an entry is removed once");
}
