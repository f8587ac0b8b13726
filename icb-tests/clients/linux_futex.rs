//! One waits for a futex that the other wakes.
//!
//! ```toml
//! linux-futex = "1"
//! ```

use linux_futex::{Futex, Private};
use std::sync::atomic::Ordering;

#[test]
fn waits_until_it_is_set() {
    let futex = Futex::<Private>::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            futex.value.store(1, Ordering::Release);
            futex.wake(1);
        });
        while futex.value.load(Ordering::Acquire) == 0 {
            let _ = futex.wait(0);
        }
    });
}
