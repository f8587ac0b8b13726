//! Two threads replace one entry: where the exchange fails, the replacement is tried again, after its first try has put the new weight into what
//! both share, so that the old weight is read back wrong and the sum of weights stays wrong.
//! Found: panic: assertion `left == right` failed: the sum of weights.
//!
//! ```toml
//! moka = { version = "=0.12.16", features = ["sync"] }
//! ```

use moka::sync::Cache;

#[test]
fn the_sum_of_weights_is_that_of_what_is_left() {
    let cache = Cache::builder().max_capacity(100).weigher(|_: &u32, value: &u32| *value).build();
    cache.insert(1, 1);
    cache.run_pending_tasks();
    let other = {
        let cache = cache.clone();
        std::thread::spawn(move || cache.insert(1, 10))
    };
    cache.insert(1, 5);
    other.join().unwrap();
    cache.run_pending_tasks();
    assert_eq!(cache.weighted_size(), u64::from(cache.get(&1).unwrap()), "the sum of weights");
}
