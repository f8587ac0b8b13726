//! A reader waits under its own lock until a writer has come.
//!
//! ```toml
//! shared-mutex = "0.3"
//! ```

use shared_mutex::SharedMutex;
use std::sync::Condvar;

#[test]
fn a_reader_waits_for_a_writer() {
    let (shared, condvar) = (SharedMutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *shared.write().unwrap() = true;
            condvar.notify_all();
        });
        let mut guard = shared.read().unwrap();
        while !*guard {
            guard = guard.wait_for_read(&condvar).unwrap();
        }
    });
}
