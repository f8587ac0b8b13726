//! A channel that forgets the oldest message if it is full.
//!
//! ```toml
//! ring-channel = "0.12"
//! ```

use std::num::NonZeroUsize;

#[test]
fn nothing_is_lost() {
    let (sender, receiver) = ring_channel::ring_channel(NonZeroUsize::new(2).unwrap());
    let other = sender.clone();
    let thread = std::thread::spawn(move || assert_eq!(other.send(Box::new(1)), Ok(None)));
    let second = std::thread::spawn(move || assert_eq!(sender.send(Box::new(2)), Ok(None)));
    let sum = *receiver.recv().unwrap() + *receiver.recv().unwrap();
    assert_eq!(sum, 3);
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
    second.join().unwrap();
}

#[test]
fn the_oldest_is_forgotten() {
    let (sender, receiver) = ring_channel::ring_channel(NonZeroUsize::new(1).unwrap());
    let thread = std::thread::spawn(move || {
        let forgotten = sender.send(Box::new(1)).unwrap().is_some() as u32;
        forgotten + sender.send(Box::new(2)).unwrap().is_some() as u32
    });
    let mut last = 0;
    let mut received = 0;
    while let Ok(number) = receiver.recv() {
        assert!(*number > last, "in order");
        last = *number;
        received += 1;
    }
    assert_eq!(last, 2, "the last one is received");
    assert_eq!(received + thread.join().unwrap(), 2, "each is received or forgotten");
}
