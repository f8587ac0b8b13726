//! Double-checked locking (Schmidt and Harrison's pattern, "broken" in its naive form): a value made by the first who
//! needs it, read without the lock by all who come later.
//!
//! The relaxed version publishes and looks with `Relaxed`: a reader that finds the flag set is ordered after nothing
//! that the writer has written, so its read of the value is a data race. `Release` and `Acquire` order it.

use icb_std::cell::UnsafeCell;
use icb_std::sync::atomic::{AtomicBool, Ordering};
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;

/// With which orderings the flag is set and looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// `Relaxed` and `Relaxed`.
    Relaxed,
    /// `Release` and `Acquire`.
    ReleaseAcquire,
}

#[derive(Debug)]
struct Lazy {
    version: Version,
    ready: AtomicBool,
    making: Mutex<()>,
    value: UnsafeCell<u64>,
}

// SAFETY: with `ReleaseAcquire` the value is written once, under the mutex, before `ready` is set, and read after
// `ready` was seen. With `Relaxed` this is a lie, which is what the program is for.
unsafe impl Sync for Lazy {}

impl Lazy {
    fn get(&self) -> u64 {
        let (set, look) = match self.version {
            Version::Relaxed => (Ordering::Relaxed, Ordering::Relaxed),
            Version::ReleaseAcquire => (Ordering::Release, Ordering::Acquire),
        };
        if !self.ready.load(look) {
            let _guard = self.making.lock().unwrap();
            if !self.ready.load(Ordering::Relaxed) {
                // SAFETY: under the mutex and before `ready` is set nobody else has access.
                self.value.with_mut(|value| unsafe { *value = 42 });
                self.ready.store(true, set);
            }
        }
        // SAFETY: see `Sync`.
        self.value.with(|value| unsafe { *value })
    }
}

/// Two threads, one of them the caller, need the value.
pub fn run(version: Version) {
    let lazy = Arc::new(Lazy {
        version,
        ready: AtomicBool::new(false),
        making: Mutex::new(()),
        value: UnsafeCell::new(0),
    });
    let theirs = lazy.clone();
    let thread = thread::spawn(move || assert_eq!(theirs.get(), 42));
    assert_eq!(lazy.get(), 42);
    thread.join().unwrap();
}
