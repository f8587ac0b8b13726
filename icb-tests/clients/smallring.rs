//! A ring in the owner's memory for one producer and one consumer.
//!
//! ```toml
//! smallring = "0.2"
//! ```

use smallring::spsc;
use std::num::NonZero;

#[test]
fn in_order() {
    let (mut producer, mut consumer) = spsc::new::<Box<u32>, 2>(NonZero::new(2).unwrap());
    let thread = std::thread::spawn(move || {
        for number in 1..4 {
            let mut message = Box::new(number);
            while let Err(smallring::spsc::PushError::Full(back)) = producer.push(message) {
                message = back;
                std::thread::yield_now();
            }
        }
    });
    for number in 1..4 {
        let message = loop {
            match consumer.pop() {
                Ok(message) => break message,
                Err(_) => std::thread::yield_now(),
            }
        };
        assert_eq!(*message, number);
    }
    thread.join().unwrap();
}
