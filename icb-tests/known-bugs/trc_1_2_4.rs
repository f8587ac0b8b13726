//! The last pointer that shares a value drops it only if there is no weak one; if there is, nobody ever does.
//! Found: the value is dropped.
//!
//! ```toml
//! trc = "=1.2.4"
//! ```

use std::sync::Arc;
use trc::{SharedTrc, Trc};

#[test]
fn the_last_pointers_go() {
    let value = Arc::new(());
    let shared = SharedTrc::new(value.clone());
    let weak = Trc::downgrade(&SharedTrc::to_trc(shared.clone()));
    let thread = std::thread::spawn(move || drop(weak));
    drop(shared);
    thread.join().unwrap();
    assert_eq!(Arc::strong_count(&value), 1, "the value is dropped");
}
