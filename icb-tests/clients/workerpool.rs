//! Two jobs for one worker, and `join`.
//!
//! ```toml
//! workerpool = "1"
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use workerpool::Pool;
use workerpool::thunk::{Thunk, ThunkWorker};

#[test]
fn all_jobs_are_done() {
    let pool = Pool::<ThunkWorker<()>>::new(1);
    let done = Arc::new(AtomicU32::new(0));
    for _ in 0..2 {
        let done = done.clone();
        pool.execute(Thunk::of(move || drop(done.fetch_add(1, Ordering::SeqCst))));
    }
    pool.join();
    assert_eq!(done.load(Ordering::SeqCst), 2);
}
