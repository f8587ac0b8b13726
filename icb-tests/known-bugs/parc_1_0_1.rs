//! `upgrade` sees that the parent is not locked, and counts itself after the parent has locked, has seen that there is no child, and has given its
//! value away.
//! Found: use after free: .
//!
//! ```toml
//! parc = "=1.0.1"
//! ```

use parc::ParentArc;

#[test]
fn a_child_or_the_value() {
    let parent = ParentArc::new(Box::new(1));
    let weak = ParentArc::downgrade(&parent);
    let thread = std::thread::spawn(move || weak.upgrade().is_none_or(|child| **child == 1));
    drop(parent.block_into_inner());
    assert!(thread.join().unwrap());
}
