//! `poll_change` finds nothing changed, then stores the waker, and does not look again: what is set in between wakes nobody.
//! Found: deadlock: .
//!
//! ```toml
//! futures-signals = "=0.3.34"
//! pollster = "0.4"
//! ```

use futures_signals::signal::{Mutable, SignalExt};

#[test]
fn the_last_value_is_seen() {
    let value = Mutable::new(0);
    let observer = value.signal();
    let other = std::thread::spawn(move || value.set(1));
    let mut last = 0;
    pollster::block_on(observer.for_each(|value| {
        last = value;
        async {}
    }));
    assert_eq!(last, 1);
    other.join().unwrap();
}
