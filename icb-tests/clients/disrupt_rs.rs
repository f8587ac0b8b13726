//! A ring of events, which a thread of its own handles.
//!
//! ```toml
//! disrupt-rs = "1.1"
//! ```

use disrupt_rs::{BusySpinWithSpinLoopHint, Producer, Sequence, build_single_producer};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

#[test]
fn all_events_are_handled() {
    let sum = Arc::new(AtomicI64::new(0));
    let seen = sum.clone();
    let handler = move |event: &i64, _: Sequence, _: bool| {
        seen.fetch_add(*event, Relaxed);
    };
    let mut producer =
        build_single_producer(2, || 0, BusySpinWithSpinLoopHint).handle_events_with(handler).build();
    for number in 1..4 {
        producer.publish(|event| *event = number);
    }
    drop(producer);
    assert_eq!(sum.load(Relaxed), 6);
}
