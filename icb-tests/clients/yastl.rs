//! A pool with scopes, whose jobs borrow.
//!
//! ```toml
//! yastl = "0.1"
//! ```

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use yastl::Pool;

#[test]
fn all_jobs_are_done() {
    let pool = Pool::new(1);
    let count = AtomicUsize::new(0);
    pool.scoped(|scope| {
        scope.execute(|| {
            count.fetch_add(1, Relaxed);
        });
        scope.execute(|| {
            count.fetch_add(1, Relaxed);
        });
    });
    assert_eq!(count.load(Relaxed), 2);
}
