//! Two threads take the one object of a pool and give it back.
//!
//! ```toml
//! object-pool = "0.6"
//! ```

use object_pool::Pool;

#[test]
fn one_owner_at_a_time() {
    let pool = Pool::new(1, || Box::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let pool = &pool;
            scope.spawn(move || {
                if let Some(mut object) = pool.try_pull() {
                    **object += 1;
                }
            });
        }
    });
    let number = **pool.try_pull().unwrap();
    assert!(number == 1 || number == 2);
}
