//! A queue of slots between two threads.
//!
//! ```toml
//! thingbuf = "0.1"
//! ```

#[test]
fn a_blocking_channel() {
    let (sender, receiver) = thingbuf::mpsc::blocking::channel(2);
    let thread = std::thread::spawn(move || sender.send(4).unwrap());
    assert_eq!(receiver.recv(), Some(4));
    thread.join().unwrap();
}
