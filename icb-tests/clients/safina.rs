//! A runtime of safe code on the channels of `std`: a task, and a receiver that waits without blocking.
//!
//! ```toml
//! safina = { version = "0.7", default-features = false, features = ["executor", "sync", "threadpool"] }
//! ```

use safina::executor::Executor;
use safina::sync::{Mutex, oneshot};
use std::sync::Arc;

#[test]
fn the_task_is_done() {
    let executor = Executor::new(1, 1).unwrap();
    let (sender, receiver) = oneshot();
    executor.spawn(async move { sender.send(7).unwrap() });
    assert_eq!(safina::executor::block_on(receiver), Ok(7));
}

#[test]
fn increments_are_not_lost() {
    let count = Arc::new(Mutex::new(0));
    let other = count.clone();
    let increment =
        |count: Arc<Mutex<u32>>| safina::executor::block_on(async move { *count.lock().await += 1 });
    let thread = std::thread::spawn(move || increment(other));
    increment(count.clone());
    thread.join().unwrap();
    assert_eq!(safina::executor::block_on(async move { *count.lock().await }), 2);
}
