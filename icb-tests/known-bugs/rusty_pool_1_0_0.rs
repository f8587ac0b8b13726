//! `join` returns although a job has still to be done: a worker has taken it out of the queue, and does not count as busy yet.
//! Found: all jobs are done.
//!
//! ```toml
//! rusty_pool = "=1.0.0"
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

#[test]
fn join_waits_for_all_jobs() {
    let pool = rusty_pool::ThreadPool::new(1, 2, Duration::from_millis(1));
    let done = Arc::new(AtomicU32::new(0));
    for _ in 0..2 {
        let done = done.clone();
        pool.execute(move || drop(done.fetch_add(1, SeqCst)));
    }
    pool.join();
    assert_eq!(done.load(SeqCst), 2, "all jobs are done");
}
