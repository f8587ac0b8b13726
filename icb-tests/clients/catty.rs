//! A value, or a sender that goes.
//!
//! ```toml
//! catty = "0.1"
//! pollster = "0.4"
//! ```

#[test]
fn a_value_is_received() {
    let (sender, receiver) = catty::oneshot();
    let thread = std::thread::spawn(move || sender.send(Box::new(7)).unwrap());
    assert_eq!(pollster::block_on(receiver), Ok(Box::new(7)));
    thread.join().unwrap();
}

#[test]
fn a_sender_goes() {
    let (sender, receiver) = catty::oneshot::<u8>();
    let thread = std::thread::spawn(move || drop(sender));
    assert!(pollster::block_on(receiver).is_err());
    thread.join().unwrap();
}

#[test]
fn a_receiver_goes() {
    let (sender, mut receiver) = catty::oneshot::<Box<u8>>();
    let thread = std::thread::spawn(move || drop(sender.send(Box::new(1))));
    let _ = receiver.try_recv();
    drop(receiver);
    thread.join().unwrap();
}
