//! One thread sets an event, and the others wait for it.
//!
//! ```toml
//! rsevents = "0.3"
//! ```

use rsevents::{AutoResetEvent, Awaitable, EventState, ManualResetEvent};

#[test]
fn one_is_let_through_each_time() {
    let event = AutoResetEvent::new(EventState::Unset);
    std::thread::scope(|scope| {
        scope.spawn(|| event.wait());
        scope.spawn(|| event.set());
        event.set();
        event.wait0();
        event.set();
    });
}

#[test]
fn all_are_let_through() {
    let event = ManualResetEvent::new(EventState::Unset);
    std::thread::scope(|scope| {
        scope.spawn(|| event.wait());
        scope.spawn(|| event.set());
        event.wait();
    });
    assert!(event.wait0());
}
