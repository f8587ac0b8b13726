//! Two tasks count under a lock that one of them keeps for a while.
//!
//! ```toml
//! async-mutex = "1"
//! pollster = "0.4"
//! ```

use async_mutex::Mutex;
use std::time::Duration;

#[test]
fn both_count() {
    let mutex = Mutex::new(0);
    let count = |pause: bool| {
        pollster::block_on(async {
            let mut guard = mutex.lock().await;
            if pause {
                std::thread::sleep(Duration::from_millis(1));
            }
            *guard += 1;
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| count(true));
        count(false);
    });
    assert_eq!(mutex.into_inner(), 2);
}
