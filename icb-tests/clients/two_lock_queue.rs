//! A queue with a lock at each end.
//!
//! ```toml
//! two-lock-queue = "0.1"
//! ```

#[test]
fn in_order() {
    let (sender, receiver) = two_lock_queue::channel(1);
    let thread = std::thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.recv(), Ok(2));
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
}

#[test]
fn two_receivers() {
    let (sender, receiver) = two_lock_queue::channel(2);
    let other = receiver.clone();
    let first = std::thread::spawn(move || other.recv().unwrap());
    let second = std::thread::spawn(move || receiver.recv().unwrap());
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    assert_eq!(first.join().unwrap() + second.join().unwrap(), 3);
}
