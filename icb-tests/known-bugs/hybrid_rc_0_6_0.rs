//! The last local pointer counts itself out and then says that no thread owns the value; the last shared pointer, which goes in between, leaves
//! the value to the owner, and nobody drops it.
//! (With frees checked another bug is found before: nothing orders the free after the owner has been taken off.)
//! Found: the value is dropped.
//! Options: --no-accesses --check-frees=false
//!
//! ```toml
//! hybrid-rc = "=0.6.0"
//! ```

use hybrid_rc::Rc;
use std::sync::Arc;

#[test]
fn the_last_pointers_go() {
    let value = Arc::new(());
    let local = Rc::new(value.clone());
    let shared = Rc::to_shared(&local);
    let thread = std::thread::spawn(move || drop(shared));
    drop(local);
    thread.join().unwrap();
    assert_eq!(Arc::strong_count(&value), 1, "the value is dropped");
}
