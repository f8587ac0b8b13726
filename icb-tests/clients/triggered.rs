//! Two wait for a trigger, one of them a future.
//!
//! ```toml
//! triggered = "0.1"
//! pollster = "0.4"
//! ```

#[test]
fn all_are_woken() {
    let (trigger, listener) = triggered::trigger();
    let other = listener.clone();
    let waiting = std::thread::spawn(move || other.wait());
    let triggering = std::thread::spawn(move || trigger.trigger());
    pollster::block_on(listener.clone());
    assert!(listener.is_triggered());
    waiting.join().unwrap();
    triggering.join().unwrap();
}
