//! Closures in threads of their own, and what they come to.
//!
//! ```toml
//! easy-parallel = "3"
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn all_results() {
    let count = AtomicU32::new(0);
    let add = || count.fetch_add(1, Ordering::SeqCst);
    let (mut others, ours) = easy_parallel::Parallel::new().add(add).add(add).finish(add);
    others.push(ours);
    others.sort_unstable();
    assert_eq!(others, [0, 1, 2]);
}
