//! An executor in a static that two threads run, and a task that is cancelled while another thread may be at it.
//!
//! ```toml
//! async-executor = "1"
//! futures-lite = "2"
//! ```

use async_executor::Executor;
use futures_lite::future;
use std::sync::Arc;

#[test]
fn two_threads_run_it() {
    static EXECUTOR: Executor<'static> = Executor::new();
    let task = EXECUTOR.spawn(async { 5 });
    let thread = std::thread::spawn(|| future::block_on(EXECUTOR.run(future::yield_now())));
    assert_eq!(future::block_on(EXECUTOR.run(task)), 5);
    thread.join().unwrap();
}

#[test]
fn a_task_is_cancelled() {
    let executor = Arc::new(Executor::new());
    let task = executor.spawn(async {
        future::yield_now().await;
        1
    });
    let theirs = executor.clone();
    let thread = std::thread::spawn(move || while theirs.try_tick() {});
    let left = future::block_on(executor.run(task.cancel()));
    assert!(left.is_none_or(|one| one == 1));
    thread.join().unwrap();
}
