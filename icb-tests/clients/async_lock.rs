//! An asynchronous mutex, polled by two threads.
//!
//! ```toml
//! async-lock = "3"
//! pollster = "0.4"
//! ```

#[test]
fn a_counter() {
    let count = async_lock::Mutex::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| pollster::block_on(async { *count.lock().await += 1 }));
        pollster::block_on(async { *count.lock().await += 1 });
    });
    assert_eq!(count.into_inner(), 2);
}
