//! A sample is lost: who empties the bucket waits for those that have begun to write into its last block, and not for the one that has found
//! the block and not begun.
//! Found: every sample is read.
//!
//! ```toml
//! metrics-util = { version = "=0.20.4", default-features = false, features = ["storage"] }
//! ```

use metrics_util::storage::AtomicBucket;
use std::sync::Arc;

#[test]
fn every_sample_is_read() {
    let bucket = Arc::new(AtomicBucket::<u64>::new());
    let same = bucket.clone();
    let thread = std::thread::spawn(move || (1..3).for_each(|sample| same.push(sample)));
    let mut read = Vec::new();
    bucket.clear_with(|samples| read.extend_from_slice(samples));
    thread.join().unwrap();
    bucket.clear_with(|samples| read.extend_from_slice(samples));
    read.sort_unstable();
    assert_eq!(read, [1, 2], "every sample is read");
}
