//! Locks that find out in which order they are taken.
//!
//! ```toml
//! tracing-mutex = "0.3"
//! ```

use tracing_mutex::stdsync::{Mutex, RwLock};

#[test]
fn one_order() {
    let first = Mutex::new(0);
    let second = RwLock::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut first = first.lock().unwrap();
                *first += 1;
                *second.write().unwrap() += 1;
            });
        }
    });
    assert_eq!(*second.read().unwrap(), 2);
}
