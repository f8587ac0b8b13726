//! A value, or a sender that goes.
//!
//! ```toml
//! oneshot = "0.1"
//! ```

#[test]
fn a_value_is_received() {
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::spawn(move || sender.send(7).unwrap());
    assert_eq!(receiver.recv().unwrap(), 7);
    thread.join().unwrap();
}

#[test]
fn a_sender_goes() {
    let (sender, receiver) = oneshot::channel::<u8>();
    let thread = std::thread::spawn(move || drop(sender));
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
}
