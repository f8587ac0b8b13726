//! A ring whose ends wait as tasks do.
//!
//! ```toml
//! async-ringbuf = "0.4"
//! pollster = "0.4"
//! ```

use async_ringbuf::AsyncHeapRb;
use async_ringbuf::traits::{AsyncConsumer, AsyncProducer, Split};
use pollster::block_on;

#[test]
fn in_order_and_then_the_end() {
    let (mut producer, mut consumer) = AsyncHeapRb::<Box<u32>>::new(1).split();
    let thread = std::thread::spawn(move || {
        block_on(async {
            producer.push(Box::new(1)).await.unwrap();
            producer.push(Box::new(2)).await.unwrap();
        });
    });
    block_on(async {
        assert_eq!(consumer.pop().await, Some(Box::new(1)));
        assert_eq!(consumer.pop().await, Some(Box::new(2)));
        assert_eq!(consumer.pop().await, None);
    });
    thread.join().unwrap();
}
