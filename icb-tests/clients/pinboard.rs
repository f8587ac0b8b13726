//! A place for a value that all read and anyone replaces, on crossbeam-epoch.
//!
//! ```toml
//! pinboard = "2.2"
//! ```

use pinboard::NonEmptyPinboard;
use std::sync::Arc;

#[test]
fn the_last_value_is_seen() {
    let board = Arc::new(NonEmptyPinboard::new(vec![0]));
    let other = board.clone();
    let thread = std::thread::spawn(move || other.set(vec![1]));
    let first = board.read();
    assert!(first == [0] || first == [1]);
    thread.join().unwrap();
    assert_eq!(board.read(), [1]);
}
