//! Two first sends race, and the receiver spins for ever.
//! Found: livelock: threads spin for ever.
//!
//! ```toml
//! crossbeam-channel = "=0.3.5"
//! # yanked: crossbeam-channel 0.3.5 e4c620e72c7c3768bc2ad3754337eb8a143a325faa731e9ac7e3237e6be015c4
//! ```
//!
//! Mended:
//!
//! ```toml
//! crossbeam-channel = "=0.3.9"
//! ```

#[test]
fn two_first_sends() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let second = sender.clone();
    let one = std::thread::spawn(move || sender.send(1).unwrap());
    let two = std::thread::spawn(move || second.send(2).unwrap());
    assert_eq!(receiver.recv().unwrap() + receiver.recv().unwrap(), 3);
    one.join().unwrap();
    two.join().unwrap();
}
