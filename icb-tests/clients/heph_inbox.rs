//! Two threads send to one that receives.
//!
//! ```toml
//! heph-inbox = "0.2"
//! pollster = "0.4"
//! ```

#[test]
fn every_message_arrives() {
    let (sender, mut receiver) = heph_inbox::new_small::<u32>();
    let other = sender.clone();
    let first = std::thread::spawn(move || pollster::block_on(sender.send(1)).unwrap());
    let second = std::thread::spawn(move || pollster::block_on(other.send(2)).unwrap());
    let mut sum = 0;
    while let Some(number) = pollster::block_on(receiver.recv()) {
        sum += number;
    }
    assert_eq!(sum, 3);
    first.join().unwrap();
    second.join().unwrap();
}
