//! An asynchronous channel, blocking.
//!
//! ```toml
//! async-channel = "2"
//! ```

#[test]
fn one_message() {
    let (sender, receiver) = async_channel::bounded(1);
    let thread = std::thread::spawn(move || sender.send_blocking(5).unwrap());
    assert_eq!(receiver.recv_blocking(), Ok(5));
    assert!(receiver.recv_blocking().is_err());
    thread.join().unwrap();
}
