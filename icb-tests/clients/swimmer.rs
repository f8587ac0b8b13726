//! Each thread has values of its own.
//!
//! ```toml
//! swimmer = "0.3"
//! ```

use swimmer::Pool;

#[test]
fn what_comes_back_is_empty() {
    let pool: Pool<Vec<u32>> = Pool::new();
    std::thread::scope(|scope| {
        for value in 0..2 {
            let pool = &pool;
            scope.spawn(move || {
                pool.get().push(value);
                let mut again = pool.get();
                assert!(again.is_empty());
                again.push(value);
            });
        }
    });
}
