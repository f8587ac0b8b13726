//! A channel that is a ring for each sender.
//!
//! ```toml
//! fanring = "0.3"
//! ```

#[test]
fn what_was_sent_comes_before_the_end() {
    let (mut sender, mut receiver) = fanring::mpsc::channel::<Box<u32>>(1);
    let mut second = sender.try_clone().unwrap();
    let one = std::thread::spawn(move || sender.send(Box::new(1)).unwrap());
    let two = std::thread::spawn(move || second.send(Box::new(2)).unwrap());
    assert_eq!(*receiver.recv().unwrap() + *receiver.recv().unwrap(), 3);
    assert!(receiver.recv().is_err());
    one.join().unwrap();
    two.join().unwrap();
}
