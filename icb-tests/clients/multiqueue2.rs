//! A queue for two receivers, and one that sends everything to both.
//!
//! ```toml
//! multiqueue2 = "0.2"
//! ```

#[test]
fn each_is_received_once() {
    let (sender, receiver) = multiqueue2::mpmc_queue(2);
    let other = receiver.clone();
    let first = std::thread::spawn(move || other.try_recv().map_or(0, |number: u32| number));
    let second = std::thread::spawn(move || {
        sender.try_send(1).unwrap();
        sender.try_send(2).unwrap();
    });
    let mut sum = 0;
    while let Ok(number) = receiver.recv() {
        sum += number;
    }
    second.join().unwrap();
    assert_eq!(sum + first.join().unwrap(), 3);
}

#[test]
fn both_get_it() {
    let (sender, receiver) = multiqueue2::broadcast_queue(2);
    let other = receiver.add_stream();
    let thread = std::thread::spawn(move || other.recv());
    sender.try_send(1).unwrap();
    drop(sender);
    assert_eq!(receiver.recv(), Ok(1));
    assert!(receiver.recv().is_err());
    assert_eq!(thread.join().unwrap(), Ok(1));
}
