//! A thread that has been woken and finds the event reset looks at it, and only then puts itself back into the list of those who wait: a signal
//! in between finds nobody, and the thread sleeps although the event is set.
//! Found: deadlock: .
//!
//! ```toml
//! synchronoise = "=1.0.1"
//! ```

use std::sync::Arc;
use synchronoise::SignalEvent;

#[test]
fn the_last_signal_wakes_who_waits() {
    let event = Arc::new(SignalEvent::manual(false));
    let same = event.clone();
    let thread = std::thread::spawn(move || same.wait());
    event.signal();
    event.reset();
    event.signal();
    thread.join().unwrap();
}
