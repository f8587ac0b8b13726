//! The latest value of another thread.
//!
//! ```toml
//! single_value_channel = "1"
//! ```

#[test]
fn values_do_not_go_back() {
    let (mut receiver, updater) = single_value_channel::channel_starting_with(0);
    let other = std::thread::spawn(move || {
        for number in [1, 2] {
            updater.update(number).unwrap();
        }
    });
    let first = *receiver.latest();
    let second = *receiver.latest();
    assert!(first <= second);
    other.join().unwrap();
    assert_eq!(*receiver.latest(), 2);
}
