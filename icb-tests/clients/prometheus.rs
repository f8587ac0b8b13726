//! What is read of a histogram belongs together.
//!
//! ```toml
//! prometheus = { version = "0.14", default-features = false }
//! ```

use prometheus::core::Metric;
use prometheus::{Histogram, HistogramOpts};

#[test]
fn sum_and_count_belong_together() {
    let histogram = Histogram::with_opts(HistogramOpts::new("name", "help").buckets(vec![1.0])).unwrap();
    let theirs = histogram.clone();
    let thread = std::thread::spawn(move || theirs.observe(0.5));
    let metric = histogram.metric();
    let read = metric.get_histogram();
    assert_eq!(read.get_sample_sum(), 0.5 * read.get_sample_count() as f64);
    thread.join().unwrap();
    assert_eq!(histogram.get_sample_count(), 1);
}
