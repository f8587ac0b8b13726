//! An owner pops while a thief steals.
//!
//! ```toml
//! crossbeam-deque = "0.8"
//! ```

use crossbeam_deque::{Steal, Worker};

#[test]
fn every_task_is_done_once() {
    let worker = Worker::new_lifo();
    worker.push(1);
    worker.push(2);
    let stealer = worker.stealer();
    let thief = std::thread::spawn(move || match stealer.steal() {
        Steal::Success(task) => task,
        Steal::Empty | Steal::Retry => 0,
    });
    let mut sum = 0;
    while let Some(task) = worker.pop() {
        sum += task;
    }
    assert_eq!(sum + thief.join().unwrap(), 3);
}
