//! Work for a pool of two threads.
//!
//! ```toml
//! affinitypool = "0.8"
//! pollster = "0.4"
//! ```

use affinitypool::Builder;

#[test]
fn two_jobs() {
    let pool = Builder::new().worker_threads(1).build();
    assert_eq!(pollster::block_on(pool.spawn(|| 1)), 1);
}
