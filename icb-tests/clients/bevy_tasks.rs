//! A task, and one that borrows from the thread that waits for it.
//!
//! ```toml
//! bevy_tasks = { version = "0.20", features = ["multi_threaded"] }
//! ```

use bevy_tasks::{TaskPoolBuilder, block_on};

#[test]
fn a_task() {
    let pool = TaskPoolBuilder::new().num_threads(1).build();
    let task = pool.spawn(async { 7 });
    assert_eq!(block_on(task), 7);
}
