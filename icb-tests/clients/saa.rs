//! A lock, a semaphore and a gate, waited for by threads.
//!
//! ```toml
//! saa = "5"
//! ```

use saa::{Gate, Lock, Semaphore};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn increments_are_not_lost() {
    let (lock, count) = (Lock::default(), AtomicU32::new(0));
    let add = || {
        lock.lock_sync();
        count.store(count.load(Relaxed) + 1, Relaxed);
        assert!(lock.release_lock());
    };
    std::thread::scope(|scope| {
        scope.spawn(add);
        add();
    });
    assert_eq!(count.load(Relaxed), 2);
}

#[test]
fn a_permit_is_waited_for() {
    let semaphore = Semaphore::with_permits(1);
    let pass = || {
        semaphore.acquire_sync();
        assert!(semaphore.release());
    };
    std::thread::scope(|scope| {
        scope.spawn(pass);
        pass();
    });
    assert_eq!(semaphore.available_permits(Relaxed), 1);
}

#[test]
fn a_gate_is_opened() {
    let gate = Gate::default();
    std::thread::scope(|scope| {
        scope.spawn(|| gate.open());
        assert!(gate.enter_sync().is_ok());
    });
}
