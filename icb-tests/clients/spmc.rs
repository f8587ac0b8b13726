//! One sender, two receivers.
//!
//! ```toml
//! spmc = "0.3"
//! ```

#[test]
fn each_is_received_once() {
    let (mut sender, receiver) = spmc::channel();
    let other = receiver.clone();
    let first = std::thread::spawn(move || other.recv().map_or(0, |number: Box<u32>| *number));
    let second = std::thread::spawn(move || receiver.recv().map_or(0, |number| *number));
    sender.send(Box::new(1)).unwrap();
    sender.send(Box::new(2)).unwrap();
    assert_eq!(first.join().unwrap() + second.join().unwrap(), 3);
}

#[test]
fn the_sender_goes() {
    let (mut sender, receiver) = spmc::channel();
    let thread = std::thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
}
