//! Two threads say what is to be done at a signal, and take it back.
//!
//! ```toml
//! signal-hook-registry = "1"
//! ```

use signal_hook_registry::{register, unregister};
use std::sync::Arc;

const SIGUSR1: i32 = 10;

#[test]
fn what_is_taken_back_is_dropped() {
    let value = Arc::new(());
    std::thread::scope(|scope| {
        let comes_and_goes = || {
            let value = value.clone();
            // SAFETY: the action does nothing.
            let id = unsafe { register(SIGUSR1, move || _ = &value) }.unwrap();
            assert!(unregister(id));
        };
        scope.spawn(comes_and_goes);
        comes_and_goes();
    });
    assert_eq!(Arc::strong_count(&value), 1);
}
