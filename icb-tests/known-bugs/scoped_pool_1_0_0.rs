//! The queue (`MsQueue` of crossbeam 0.2.12) hands a message over to a thread that waits with relaxed accesses alone; one that has not parked yet reads it
//! without anything that orders it.
//! Found: data race: .
//!
//! ```toml
//! scoped-pool = "=1.0.0"
//! ```

#[test]
fn the_job_is_done() {
    let pool = scoped_pool::Pool::new(1);
    let mut number = 0;
    pool.scoped(|scope| scope.execute(|| number += 1));
    assert_eq!(number, 1);
    pool.shutdown();
}
