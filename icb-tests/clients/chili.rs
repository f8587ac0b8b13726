//! A pool's thread may take one half of the work.
//!
//! ```toml
//! chili = "0.2"
//! ```

use chili::{Config, ThreadPool};
use std::num::NonZero;

#[test]
fn both_halves_are_done() {
    let pool = ThreadPool::with_config(Config { thread_count: NonZero::new(2), ..Config::default() });
    let mut numbers = [1, 2, 3];
    let (first, rest) = numbers.split_at_mut(1);
    pool.scope().join(
        |_| first[0] += 10,
        |scope| {
            let (second, third) = rest.split_at_mut(1);
            scope.join(|_| second[0] += 10, |_| third[0] += 10);
        },
    );
    assert_eq!(numbers, [11, 12, 13]);
}
