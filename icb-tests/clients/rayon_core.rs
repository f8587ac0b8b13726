//! Two halves of a computation in a pool of one thread, beside the one that asks for it.
//!
//! ```toml
//! rayon-core = "1"
//! ```

#[test]
fn two_halves() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (left, right) = pool.install(|| rayon_core::join(|| 1, || 2));
    assert_eq!(left + right, 3);
}
