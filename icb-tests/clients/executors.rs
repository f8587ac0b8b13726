//! A pool whose workers steal from each other and park.
//!
//! ```toml
//! executors = "0.10"
//! ```

use executors::{Executor, crossbeam_workstealing_pool};
use std::sync::mpsc::channel;

#[test]
fn all_jobs_are_done() {
    let pool = crossbeam_workstealing_pool::small_pool(1);
    let (sender, receiver) = channel();
    for number in 0..2 {
        let sender = sender.clone();
        pool.execute(move || sender.send(number).unwrap());
    }
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 1);
    // Its end is waited for five seconds at most.
    std::mem::forget(pool);
}
