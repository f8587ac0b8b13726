//! A task that one thread runs while another waits for it, and one that is cancelled meanwhile.
//!
//! ```toml
//! async-task = "4"
//! pollster = "0.4"
//! ```

use std::sync::Arc;

#[test]
fn a_result_is_waited_for() {
    let (runnable, task) = async_task::spawn(async { 5 }, |_| ());
    let thread = std::thread::spawn(move || runnable.run());
    assert_eq!(pollster::block_on(task), 5);
    thread.join().unwrap();
}

#[test]
fn what_is_cancelled_is_dropped() {
    let count = Arc::new(());
    let theirs = count.clone();
    let (runnable, task) = async_task::spawn(async move { theirs }, |_| ());
    let thread = std::thread::spawn(move || runnable.run());
    drop(pollster::block_on(task.cancel()));
    thread.join().unwrap();
    assert_eq!(Arc::strong_count(&count), 1);
}
