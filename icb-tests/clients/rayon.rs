//! An iterator in a pool of one thread, and the pool that everybody shares, whose threads never end.
//!
//! ```toml
//! rayon = "1"
//! ```

use rayon::prelude::*;

#[test]
fn a_sum() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| (0..4).into_par_iter().map(|i| i * 2).sum::<i32>()), 12);
}

#[test]
fn the_shared_pool() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    assert_eq!(rayon::join(|| 1, || 2), (1, 2));
}
