//! A lock of one bit, made of parking and unparking.
//!
//! ```toml
//! parking_lot_core = "0.9"
//! ```

use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN};
use std::sync::atomic::{AtomicBool, Ordering};

struct Lock(AtomicBool);

impl Lock {
    fn with(&self, work: impl FnOnce()) {
        let key = &raw const *self as usize;
        while self.0.swap(true, Ordering::Acquire) {
            let taken = || self.0.load(Ordering::Relaxed);
            unsafe { parking_lot_core::park(key, taken, || {}, |_, _| {}, DEFAULT_PARK_TOKEN, None) };
        }
        work();
        self.0.store(false, Ordering::Release);
        unsafe { parking_lot_core::unpark_one(key, |_| DEFAULT_UNPARK_TOKEN) };
    }
}

#[test]
fn a_counter() {
    let (lock, mut count) = (Lock(AtomicBool::new(false)), 0);
    struct Shared(*mut u32);
    unsafe impl Sync for Shared {}
    let shared = Shared(&raw mut count);
    let add = || {
        let shared = &shared;
        lock.with(|| unsafe { *shared.0 += 1 });
    };
    std::thread::scope(|scope| {
        scope.spawn(add);
        add();
    });
    assert_eq!(count, 2);
}
