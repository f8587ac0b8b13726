//! A value is made once.
//!
//! ```toml
//! lazy-init = "0.5"
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn made_once() {
    let (lazy, made) = (lazy_init::Lazy::new(), AtomicU32::new(0));
    let make = || {
        made.fetch_add(1, Ordering::Relaxed);
        Box::new(7)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(**lazy.get_or_create(make), 7));
        scope.spawn(|| assert!(lazy.get().is_none_or(|value| **value == 7)));
        assert_eq!(**lazy.get_or_create(make), 7);
    });
    assert_eq!(made.load(Ordering::Relaxed), 1);
}
