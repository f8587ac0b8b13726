//! Nothing but relaxed accesses: what the producer has written is read by the consumer without anything that orders it.
//! Found: data race: .
//!
//! ```toml
//! fring = "=0.5.0"
//! ```

#[test]
fn what_is_written_is_read() {
    let mut buffer = fring::Buffer::<u8, 2>::new();
    let (mut producer, mut consumer) = buffer.split();
    std::thread::scope(|scope| {
        scope.spawn(move || producer.write_slice(&[1, 2]));
        assert!(consumer.read(2).iter().all(|number| [1, 2].contains(number)));
    });
}
