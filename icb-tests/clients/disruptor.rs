//! Events of two producers come to one consumer.
//!
//! ```toml
//! disruptor = "4"
//! ```

use disruptor::{BusySpin, Producer, build_multi_producer};
use std::sync::{Arc, Mutex};

#[test]
fn nothing_is_lost() {
    let sum = Arc::new(Mutex::new(0));
    let theirs = sum.clone();
    let adds = move |number: &i32, _, _| *theirs.lock().unwrap() += *number;
    let mut first = build_multi_producer(64, || 0, BusySpin).handle_events_with(adds).build();
    let mut second = first.clone();
    let thread = std::thread::spawn(move || second.publish(|number| *number = 1));
    first.publish(|number| *number = 2);
    thread.join().unwrap();
    drop(first);
    assert_eq!(*sum.lock().unwrap(), 3);
}
