//! A sum, and the first that is found, on two threads.
//!
//! ```toml
//! orx-parallel = "4"
//! ```

use orx_parallel::*;

#[test]
fn sum() {
    let numbers = vec![1, 2, 3];
    let sum: i32 = numbers.par().num_threads(2).chunk_size(1).map(|number| number * 2).sum();
    assert_eq!(sum, 12);
}

#[test]
fn first() {
    let numbers = vec![1, 2, 3];
    let first = numbers.par().num_threads(2).chunk_size(1).filter(|number| **number > 1).first();
    assert_eq!(first, Some(&2));
}
