//! Spinning locks.
//!
//! ```toml
//! spinning_top = "0.4"
//! ```

#[test]
fn a_mutex() {
    let mutex = spinning_top::Spinlock::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| *mutex.lock() += 1);
        scope.spawn(|| *mutex.lock() += 1);
    });
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn readers_and_a_writer() {
    let lock = spinning_top::RwSpinlock::new((0, 0));
    std::thread::scope(|scope| {
        scope.spawn(|| *lock.write() = (1, 1));
        scope.spawn(|| {
            let pair = lock.read();
            assert_eq!(pair.0, pair.1);
        });
        let pair = lock.upgradable_read();
        assert_eq!(pair.0, pair.1);
    });
}
