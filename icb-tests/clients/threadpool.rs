//! `join` waits for all jobs.
//!
//! ```toml
//! threadpool = "1"
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn all_jobs_are_done() {
    let pool = threadpool::ThreadPool::new(2);
    let done = Arc::new(AtomicU32::new(0));
    for _ in 0..2 {
        let done = done.clone();
        pool.execute(move || drop(done.fetch_add(1, Relaxed)));
    }
    pool.join();
    assert_eq!(done.load(Relaxed), 2);
}
