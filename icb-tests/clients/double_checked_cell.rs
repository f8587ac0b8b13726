//! Two threads initialise a cell while a third looks into it.
//!
//! ```toml
//! double-checked-cell = "2"
//! ```

use double_checked_cell::DoubleCheckedCell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[test]
fn once() {
    let (cell, count) = (DoubleCheckedCell::new(), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                assert_eq!(*cell.get_or_init(|| Box::new(count.fetch_add(1, SeqCst))), Box::new(0))
            });
        }
        assert!(cell.get().is_none_or(|value| **value == 0));
    });
    assert_eq!(count.load(SeqCst), 1);
}
