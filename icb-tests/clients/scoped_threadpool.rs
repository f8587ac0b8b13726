//! Two jobs for two threads, which borrow.
//!
//! ```toml
//! scoped_threadpool = "0.1"
//! ```

#[test]
fn both_are_done() {
    let mut numbers = [1, 2];
    let mut pool = scoped_threadpool::Pool::new(2);
    pool.scoped(|scope| {
        for number in &mut numbers {
            scope.execute(move || *number += 1);
        }
    });
    assert_eq!(numbers, [2, 3]);
}
