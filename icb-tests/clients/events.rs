//! Events that tasks wait for: one that lets all go on, and one that lets one.
//!
//! ```toml
//! events = "0.7"
//! pollster = "0.4"
//! ```

use events::{AutoResetEvent, ManualResetEvent};
use pollster::block_on;

#[test]
fn all_go_on() {
    let event = ManualResetEvent::boxed();
    let other = event.clone();
    let thread = std::thread::spawn(move || block_on(other.wait()));
    event.set();
    block_on(event.wait());
    thread.join().unwrap();
}

#[test]
fn each_set_lets_one_go_on() {
    let event = AutoResetEvent::boxed();
    let back = AutoResetEvent::boxed();
    let (other, back_too) = (event.clone(), back.clone());
    let thread = std::thread::spawn(move || {
        block_on(other.wait());
        back_too.set();
        block_on(other.wait());
    });
    event.set();
    block_on(back.wait());
    event.set();
    thread.join().unwrap();
    assert!(!event.try_wait());
}
