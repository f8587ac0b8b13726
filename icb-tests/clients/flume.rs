//! A bounded channel between two threads.
//!
//! ```toml
//! flume = "0.12"
//! ```

#[test]
fn a_bounded_channel() {
    let (sender, receiver) = flume::bounded(1);
    let thread = std::thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
    thread.join().unwrap();
}
