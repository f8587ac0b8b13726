//! A reader sees the old value or the new one.
//!
//! ```toml
//! arc-swap = "1"
//! ```

use arc_swap::ArcSwap;
use std::sync::Arc;

#[test]
fn old_or_new() {
    let value = ArcSwap::from_pointee(1);
    std::thread::scope(|scope| {
        scope.spawn(|| value.store(Arc::new(2)));
        let seen = **value.load();
        assert!(seen == 1 || seen == 2);
    });
    assert_eq!(**value.load(), 2);
}
