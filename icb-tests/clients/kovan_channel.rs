//! Messages of two threads, and the end of a channel.
//!
//! ```toml
//! kovan-channel = "0.2"
//! ```

#[test]
fn bounded() {
    let (sender, receiver) = kovan_channel::bounded::<Box<u32>>(1);
    let thread = std::thread::spawn(move || {
        sender.send(Box::new(1));
        sender.send(Box::new(2));
    });
    assert_eq!(receiver.recv(), Some(Box::new(1)));
    assert_eq!(receiver.recv(), Some(Box::new(2)));
    assert_eq!(receiver.recv(), None);
    thread.join().unwrap();
}

#[test]
fn unbounded() {
    let (sender, receiver) = kovan_channel::unbounded::<Box<u32>>();
    let thread = std::thread::spawn(move || sender.send(Box::new(1)));
    assert_eq!(receiver.recv(), Some(Box::new(1)));
    assert_eq!(receiver.recv(), None);
    thread.join().unwrap();
}
