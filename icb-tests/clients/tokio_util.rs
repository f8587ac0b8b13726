//! A token is cancelled while the tree that it is in changes; all tasks are waited for.
//!
//! ```toml
//! tokio-util = { version = "0.7", features = ["rt"] }
//! pollster = "0.4"
//! ```

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[test]
fn a_child_of_a_child() {
    let token = CancellationToken::new();
    let child = token.child_token();
    let grandchild = child.child_token();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(child));
        scope.spawn(|| pollster::block_on(grandchild.cancelled()));
        token.cancel();
    });
}

#[test]
fn all_tasks_end() {
    let tracker = TaskTracker::new();
    let task = tracker.token();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(task));
        scope.spawn(|| tracker.close());
        pollster::block_on(tracker.wait());
    });
    assert!(tracker.is_empty());
}
