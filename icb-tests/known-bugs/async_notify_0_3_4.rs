//! `notify` asks for one notified listener, not for one more: while the first has not gone on yet, the second notification wakes nobody.
//! Found: deadlock: T0 waits for.
//!
//! ```toml
//! async-notify = "=0.3.4"
//! pollster = "0.4"
//! ```

use async_notify::Notify;

#[test]
fn both_are_notified() {
    let notify = Notify::new();
    std::thread::scope(|scope| {
        scope.spawn(|| pollster::block_on(notify.notified()));
        scope.spawn(|| pollster::block_on(notify.notified()));
        notify.notify();
        notify.notify();
    });
}
