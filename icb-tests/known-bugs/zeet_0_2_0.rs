//! `join` tells the workers to end, who look for that before they look for jobs.
//! Found: all jobs are done.
//!
//! ```toml
//! zeet = "=0.2.0"
//! ```

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use zeet::{BoxedJob, WorkStealThreadPool};

#[test]
fn all_jobs_are_done() {
    let pool = WorkStealThreadPool::<BoxedJob>::builder().max_threads(NonZeroUsize::new(1).unwrap()).build();
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        let count = count.clone();
        pool.spawn(Box::new(move || {
            count.fetch_add(1, SeqCst);
        }));
    }
    pool.join().unwrap();
    assert_eq!(count.load(SeqCst), 2, "all jobs are done");
}
