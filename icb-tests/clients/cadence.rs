//! Metrics that a thread of its own hands on.
//!
//! ```toml
//! cadence = "1"
//! ```

use cadence::{Counted, MetricSink, QueuingMetricSink, StatsdClient};
use std::io;
use std::panic::RefUnwindSafe;
use std::sync::{Arc, Mutex};

struct Sink(Arc<Mutex<Vec<String>>>);

impl RefUnwindSafe for Sink {}

impl MetricSink for Sink {
    fn emit(&self, metric: &str) -> io::Result<usize> {
        self.0.lock().unwrap().push(metric.to_string());
        Ok(metric.len())
    }
}

#[test]
fn all_is_handed_on_before_the_end() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = QueuingMetricSink::with_capacity(Sink(seen.clone()), 4);
    let client = Arc::new(StatsdClient::from_sink("icb", sink));
    let other = client.clone();
    let thread = std::thread::spawn(move || other.count("one", 1).unwrap());
    client.count("two", 2).unwrap();
    thread.join().unwrap();
    drop(client);
    while Arc::strong_count(&seen) > 1 {
        std::thread::yield_now();
    }
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    assert_eq!(seen, ["icb.one:1|c", "icb.two:2|c"]);
}
