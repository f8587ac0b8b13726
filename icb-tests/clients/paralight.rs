//! A sum on two threads.
//!
//! ```toml
//! paralight = "0.0.12"
//! ```

use paralight::prelude::*;

fn pool() -> ThreadPool {
    ThreadPoolBuilder {
        num_threads: ThreadCount::try_from(2).unwrap(),
        range_strategy: RangeStrategy::WorkStealing,
        cpu_pinning: CpuPinningPolicy::No,
    }
    .build()
}

#[test]
fn sum() {
    let mut pool = pool();
    let sum = [1, 2].par_iter().with_thread_pool(&mut pool).sum::<i32>();
    assert_eq!(sum, 3);
}
