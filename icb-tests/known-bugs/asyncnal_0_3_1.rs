//! `set_one` finds nobody who waits and sets the event; who waits has seen that it is not set, only then comes into the queue, and does not look again.
//! Found: deadlock: T0 waits on.
//!
//! ```toml
//! asyncnal = "=0.3.1"
//! pollster = "0.4"
//! ```

use asyncnal::{Event, EventSetter};

#[test]
fn the_event_is_set() {
    let event = Event::new();
    std::thread::scope(|scope| {
        scope.spawn(|| event.set_one());
        pollster::block_on(event.wait());
    });
}
