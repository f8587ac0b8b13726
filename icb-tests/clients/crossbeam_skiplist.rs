//! An insertion beside an insertion and a removal.
//!
//! ```toml
//! crossbeam-skiplist = "0.1"
//! ```

use crossbeam_skiplist::SkipSet;
use std::sync::Arc;

#[test]
fn insert_and_remove() {
    let set = Arc::new(SkipSet::new());
    let theirs = set.clone();
    let thread = std::thread::spawn(move || {
        theirs.insert(1);
        theirs.remove(&2);
    });
    set.insert(2);
    thread.join().unwrap();
    assert!(set.contains(&1));
}
