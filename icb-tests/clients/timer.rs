//! A thread that sends a message when its time has come.
//!
//! ```toml
//! timer = "0.2"
//! chrono = "0.4"
//! ```

use chrono::Duration;
use std::sync::mpsc::channel;
use timer::MessageTimer;

#[test]
fn the_message_comes_once() {
    let (sender, receiver) = channel();
    let timer = MessageTimer::new(sender);
    let guard = timer.schedule_with_delay(Duration::milliseconds(3), 7);
    assert_eq!(receiver.recv(), Ok(7));
    drop(guard);
    drop(timer);
    assert!(receiver.recv().is_err());
}
