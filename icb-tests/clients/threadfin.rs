//! A pool of one thread, waited for as a thread and as a future.
//!
//! ```toml
//! threadfin = "0.1"
//! pollster = "0.4"
//! ```

#[test]
fn both_have_results() {
    let pool = threadfin::ThreadPool::builder().size(1).build();
    let first = pool.execute(|| 1);
    let second = pool.execute_future(async { 2 });
    assert_eq!(first.join(), 1);
    assert_eq!(pollster::block_on(second), 2);
}
