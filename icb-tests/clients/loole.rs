//! Channels, blocking and not.
//!
//! ```toml
//! loole = "0.6"
//! pollster = "0.4"
//! ```

#[test]
fn in_order() {
    let (sender, receiver) = loole::bounded(1);
    let thread = std::thread::spawn(move || {
        sender.send(1).unwrap();
        pollster::block_on(sender.send_async(2)).unwrap();
    });
    assert_eq!(pollster::block_on(receiver.recv_async()), Ok(1));
    assert_eq!(receiver.recv(), Ok(2));
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
}

#[test]
fn two_receivers() {
    let (sender, receiver) = loole::unbounded();
    let other = receiver.clone();
    let first = std::thread::spawn(move || other.recv().unwrap());
    let second = std::thread::spawn(move || receiver.recv().unwrap());
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    assert_eq!(first.join().unwrap() + second.join().unwrap(), 3);
}
