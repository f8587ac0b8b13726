//! Each place has a bit that says in which round it was filled last, and a ring of fewer than 64 places has 64 of them.
//! Found: double free.
//!
//! ```toml
//! scatto = "=0.2.0"
//! ```

use scatto::mpsc;

#[test]
fn each_message_once() {
    let (producer, mut consumer) = mpsc::channel_with_wait(2, scatto::YieldingWait::default());
    let other = producer.clone();
    let one = std::thread::spawn(move || producer.send(Box::new(1)).unwrap());
    let two = std::thread::spawn(move || other.send(Box::new(2)).unwrap());
    assert_eq!(*consumer.recv().unwrap() + *consumer.recv().unwrap(), 3);
    one.join().unwrap();
    two.join().unwrap();
    assert!(consumer.try_recv().is_err());
}
