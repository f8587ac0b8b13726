//! Locks that wait for a futex through rustix.
//!
//! ```toml
//! rustix-futex-sync = "0.4"
//! ```

use rustix_futex_sync::{Condvar, Mutex};

#[test]
fn a_flag_is_waited_for() {
    let (flag, change) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *flag.lock() = true;
            change.notify_one();
        });
        let mut set = flag.lock();
        while !*set {
            set = change.wait(set);
        }
    });
}
