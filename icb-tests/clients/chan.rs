//! A rendezvous and the end of a channel.
//!
//! ```toml
//! chan = "0.1"
//! ```

#[test]
fn what_is_sent_is_received() {
    let (sender, receiver) = chan::sync(0);
    let thread = std::thread::spawn(move || sender.send(1));
    assert_eq!(receiver.recv(), Some(1));
    assert_eq!(receiver.recv(), None);
    thread.join().unwrap();
}
