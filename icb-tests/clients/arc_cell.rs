//! A place for an `Arc` that is taken out while it is looked at.
//!
//! ```toml
//! arc-cell = "0.3"
//! ```

use arc_cell::{ArcCell, WeakCell};
use std::sync::Arc;

#[test]
fn what_is_set_is_seen() {
    let cell = Arc::new(ArcCell::new(Arc::new(0)));
    let other = cell.clone();
    let thread = std::thread::spawn(move || *other.set(Arc::new(1)));
    let seen = *cell.get();
    assert!(seen <= 1);
    assert_eq!(thread.join().unwrap(), 0);
    assert_eq!(*cell.get(), 1);
}

#[test]
fn it_does_not_keep_alive() {
    let value = Arc::new(1);
    let cell = Arc::new(WeakCell::empty());
    cell.store(&value);
    let other = cell.clone();
    let thread = std::thread::spawn(move || other.upgrade().is_none_or(|value| *value == 1));
    drop(value);
    assert!(thread.join().unwrap());
    assert!(cell.upgrade().is_none());
}
