//! Two senders, one receiver that sees the end.
//!
//! ```toml
//! crossbeam-channel = "0.5"
//! ```

#[test]
fn two_senders() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let second = sender.clone();
    let one = std::thread::spawn(move || sender.send(1).unwrap());
    let two = std::thread::spawn(move || second.send(2).unwrap());
    let sum: i32 = receiver.iter().sum();
    assert_eq!(sum, 3);
    one.join().unwrap();
    two.join().unwrap();
}
