//! A job now, a job later, and the end of the pool.
//!
//! ```toml
//! scheduled-thread-pool = "0.2"
//! ```

use scheduled_thread_pool::ScheduledThreadPool;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn now_and_later() {
    let (sender, receiver) = channel();
    let pool = ScheduledThreadPool::new(1);
    let other = sender.clone();
    pool.execute_after(Duration::from_millis(10), move || other.send(2).unwrap());
    pool.execute(move || sender.send(1).unwrap());
    let sum = receiver.recv().unwrap() + receiver.recv().unwrap();
    assert_eq!(sum, 3);
    drop(pool);
    assert!(receiver.recv().is_err());
}
