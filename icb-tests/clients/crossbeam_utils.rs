//! A wait group, a parker and an atomic cell.
//!
//! ```toml
//! crossbeam-utils = "0.8"
//! ```

use crossbeam_utils::atomic::AtomicCell;
use crossbeam_utils::sync::{Parker, WaitGroup};
use std::sync::Arc;

#[test]
fn a_wait_group_waits() {
    let cell = Arc::new(AtomicCell::new(0u32));
    let group = WaitGroup::new();
    for _ in 0..2 {
        let (cell, group) = (cell.clone(), group.clone());
        std::thread::spawn(move || {
            cell.fetch_add(1);
            drop(group);
        });
    }
    group.wait();
    assert_eq!(cell.load(), 2);
}

#[test]
fn a_parker_is_woken() {
    let parker = Parker::new();
    let unparker = parker.unparker().clone();
    let waker = std::thread::spawn(move || unparker.unpark());
    parker.park();
    waker.join().unwrap();
}
