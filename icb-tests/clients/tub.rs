//! Two tasks take turns with one value.
//!
//! ```toml
//! tub = "0.3"
//! pollster = "0.4"
//! ```

use tub::Pool;

#[test]
fn one_at_a_time() {
    let pool = Pool::from_vec(vec![0]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *pollster::block_on(pool.acquire()) += 1);
        }
    });
    assert_eq!(*pollster::block_on(pool.acquire()), 2);
}
