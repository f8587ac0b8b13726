//! Channels of all kinds and locks that tasks and threads wait for.
//!
//! ```toml
//! fibre = { version = "0.6", default-features = false }
//! pollster = "0.4"
//! ```

use pollster::block_on;

#[test]
fn each_message_once() {
    let (sender, receiver) = fibre::mpmc::bounded::<Box<u32>>(1);
    let other = sender.clone();
    let one = std::thread::spawn(move || sender.send(Box::new(1)).unwrap());
    let two = std::thread::spawn(move || other.send(Box::new(2)).unwrap());
    assert_eq!(*receiver.recv().unwrap() + *receiver.recv().unwrap(), 3);
    assert!(receiver.recv().is_err());
    one.join().unwrap();
    two.join().unwrap();
}

#[test]
fn what_was_sent_comes_before_the_end() {
    let (mut sender, receiver) = fibre::mpsc::unbounded::<Box<u32>>();
    let other = std::thread::spawn(move || sender.send(Box::new(1)).unwrap());
    assert_eq!(receiver.recv(), Ok(Box::new(1)));
    assert!(receiver.recv().is_err());
    other.join().unwrap();
}

#[test]
fn from_one_to_one() {
    let (sender, receiver) = fibre::oneshot::oneshot::<Box<u32>>();
    let other = std::thread::spawn(move || sender.send(Box::new(1)).unwrap());
    assert_eq!(block_on(receiver.recv()), Ok(Box::new(1)));
    other.join().unwrap();
}

#[test]
fn to_each_of_two() {
    let (sender, receiver) = fibre::spmc::bounded::<u32>(1);
    let second = receiver.clone();
    let other = std::thread::spawn(move || (second.recv(), second.recv()));
    let sending = std::thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
    assert_eq!(other.join().unwrap(), (Ok(1), Ok(2)));
    sending.join().unwrap();
}
