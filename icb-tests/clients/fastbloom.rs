//! Two put into a filter of atomics.
//!
//! ```toml
//! fastbloom = "0.17"
//! ```

use fastbloom::AtomicBloomFilter;
use std::sync::Arc;

#[test]
fn two_insert() {
    let filter = Arc::new(AtomicBloomFilter::with_num_bits(64).seed(&1).hashes(2));
    let theirs = filter.clone();
    let thread = std::thread::spawn(move || drop(theirs.insert(&1)));
    filter.insert(&2);
    assert!(filter.contains(&2));
    thread.join().unwrap();
    assert!(filter.contains(&1));
}
