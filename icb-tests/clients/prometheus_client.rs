//! A family of counters, and a histogram, used by two.
//!
//! ```toml
//! prometheus-client = "0.26"
//! ```

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[test]
fn a_family() {
    let family = Family::<Vec<(String, String)>, Counter>::default();
    let labels = vec![(String::from("method"), String::from("get"))];
    let theirs = (family.clone(), labels.clone());
    let thread = std::thread::spawn(move || drop(theirs.0.get_or_create(&theirs.1).inc()));
    family.get_or_create(&labels).inc();
    thread.join().unwrap();
    assert_eq!(family.get_or_create(&labels).get(), 2);
}

#[test]
fn a_histogram() {
    let histogram = Histogram::new([1.0, 2.0]);
    let mut registry = Registry::default();
    registry.register("times", "Times", histogram.clone());
    let thread = std::thread::spawn(move || histogram.observe(1.5));
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    assert!(text.contains("times_count 0") || text.contains("times_sum 1.5"));
    thread.join().unwrap();
}
