//! One producer, one consumer, a ring that wraps around.
//!
//! ```toml
//! bbqueue = "0.7"
//! ```

#[test]
fn in_order() {
    let queue = bbqueue::nicknames::Churrasco::<4>::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let producer = queue.stream_producer();
            let mut next = 1;
            for _ in 0..3 {
                if let Ok(mut grant) = producer.grant_exact(2) {
                    grant.copy_from_slice(&[next, next + 1]);
                    grant.commit(2);
                    next += 2;
                }
            }
        });
        let consumer = queue.stream_consumer();
        let mut next = 1;
        for _ in 0..2 {
            if let Ok(grant) = consumer.read() {
                for number in &*grant {
                    assert_eq!(*number, next);
                    next += 1;
                }
                let length = grant.len();
                grant.release(length);
            }
        }
    });
}
