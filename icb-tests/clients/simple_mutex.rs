//! Two threads and a number.
//!
//! ```toml
//! simple-mutex = "1"
//! ```

#[test]
fn two_additions() {
    let mutex = simple_mutex::Mutex::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| *mutex.lock() += 1);
        scope.spawn(|| *mutex.lock() += 1);
    });
    assert_eq!(mutex.into_inner(), 2);
}
