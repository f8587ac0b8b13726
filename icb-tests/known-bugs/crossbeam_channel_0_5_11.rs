//! A block is leaked when the receiver goes while the first message is being sent.
//! Found: leak: .
//! Options: --check-leaks
//!
//! ```toml
//! crossbeam-channel = "=0.5.11"
//! ```
//!
//! Mended:
//!
//! ```toml
//! crossbeam-channel = "=0.5.15"
//! ```

#[test]
fn a_receiver_goes_while_two_send() {
    let (sender, receiver) = crossbeam_channel::unbounded::<u64>();
    let second = sender.clone();
    let one = std::thread::spawn(move || drop(sender.send(1)));
    let two = std::thread::spawn(move || drop(second.send(2)));
    drop(receiver);
    one.join().unwrap();
    two.join().unwrap();
}
