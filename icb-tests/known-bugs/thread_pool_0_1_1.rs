//! The last worker says that the pool has terminated, and notifies, without the lock under which `await_termination` has looked before it waits.
//! Found: deadlock: T0 waits on.
//!
//! ```toml
//! thread-pool = "=0.1.1"
//! ```

use thread_pool::ThreadPool;

#[test]
fn termination_is_told() {
    let (sender, pool) = ThreadPool::<Box<dyn FnOnce() + Send>>::single_thread();
    sender.send(Box::new(|| ())).unwrap();
    pool.shutdown();
    pool.await_termination();
}
