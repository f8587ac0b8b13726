//! A value with a condition, waited for until it is as it should be.
//!
//! ```toml
//! sync-wait-object = "0.2"
//! ```

use sync_wait_object::WaitEvent;

#[test]
fn the_value_is_waited_for() {
    let event = WaitEvent::new_init(0);
    let mut other = event.clone();
    let thread = std::thread::spawn(move || {
        other.set_state(1).unwrap();
        other.set_state(2).unwrap();
    });
    assert_eq!(*event.wait(None, |state| *state == 2).unwrap(), 2);
    thread.join().unwrap();
}
