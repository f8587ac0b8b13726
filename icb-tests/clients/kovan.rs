//! Memory is given back when nobody reads it any more; the hyaline algorithm, with exchanges of two words at once.
//!
//! ```toml
//! kovan = "0.2"
//! ```

use kovan::{Atomic, RetiredNode, Shared, pin, retire};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

#[repr(C)]
struct Node {
    retired: RetiredNode,
    value: u32,
}

fn node(value: u32) -> *mut Node {
    Box::into_raw(Box::new(Node { retired: RetiredNode::new(), value }))
}

#[test]
fn a_reader_keeps_what_it_reads() {
    let place = Arc::new(Atomic::new(node(1)));
    let other = place.clone();
    let thread = std::thread::spawn(move || {
        let guard = pin();
        // SAFETY: what has been loaded under a guard lives as long as the guard, and is never null.
        unsafe { other.load(Acquire, &guard).deref().value }
    });
    {
        let guard = pin();
        // SAFETY: the new node has one owner, which is the place.
        let new = unsafe { Shared::from_raw(node(2)) };
        let old = place.swap(new, AcqRel, &guard);
        // SAFETY: nobody finds the old node any more.
        unsafe { retire(old.as_raw()) };
    }
    kovan::flush();
    assert!([1, 2].contains(&thread.join().unwrap()));
    // SAFETY: no other thread is left.
    drop(unsafe { Box::from_raw(place.load(Acquire, &pin()).as_raw()) });
}
