//! Double free of the first block in `discard_all_messages` (RUSTSEC-2025-0024).
//! Found: double free: a block of.
//!
//! ```toml
//! crossbeam-channel = "=0.5.14"
//! # yanked: crossbeam-channel 0.5.14 06ba6d68e24814cb8de6bb986db8222d3a027d15872cabc0d18817bc3c0e4471
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
