//! `Pool::shutdown` waits for a count of workers that have begun, which nobody counts, and that goes below zero when a worker ends.
//! Found: waits on Condvar.
//!
//! ```toml
//! yastl = "=0.1.2"
//! ```

use yastl::Pool;

#[test]
fn shut_down() {
    let pool = Pool::new(1);
    pool.scoped(|scope| scope.execute(|| ()));
    pool.shutdown();
}
