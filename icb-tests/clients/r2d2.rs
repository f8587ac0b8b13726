//! Two ask for the only connection, and wait for it, but not for ever.
//!
//! ```toml
//! r2d2 = "0.8"
//! scheduled-thread-pool = "0.2"
//! ```

use r2d2::{ManageConnection, Pool};
use scheduled_thread_pool::ScheduledThreadPool;
use std::sync::Arc;

struct Manager;

impl ManageConnection for Manager {
    type Connection = ();
    type Error = std::io::Error;

    fn connect(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn is_valid(&self, _: &mut ()) -> std::io::Result<()> {
        Ok(())
    }

    fn has_broken(&self, _: &mut ()) -> bool {
        false
    }
}

#[test]
fn one_connection() {
    let threads = Arc::new(ScheduledThreadPool::new(1));
    let pool = Pool::builder().max_size(1).thread_pool(threads).max_lifetime(None).idle_timeout(None);
    let pool = pool.test_on_check_out(false).build_unchecked(Manager);
    let theirs = pool.clone();
    let thread = std::thread::spawn(move || drop(theirs.get()));
    drop(pool.get());
    thread.join().unwrap();
    assert!(pool.state().connections <= 1);
}
