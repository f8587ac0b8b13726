//! A thread records, and another one collects what was recorded.
//!
//! ```toml
//! hdrhistogram = { version = "7", default-features = false, features = ["sync"] }
//! ```

use hdrhistogram::Histogram;

#[test]
fn everything_is_collected() {
    let mut histogram = Histogram::<u32>::new_with_bounds(1, 2, 1).unwrap().into_sync();
    let mut recorder = histogram.recorder();
    let other = std::thread::spawn(move || {
        recorder.record(1).unwrap();
        recorder.record(2).unwrap();
    });
    histogram.refresh();
    other.join().unwrap();
    histogram.refresh();
    assert_eq!(histogram.len(), 2);
}
