//! A cell that is filled once, by one of two threads.
//!
//! ```toml
//! lazycell = "1"
//! ```

#[test]
fn one_fills_it() {
    let cell = lazycell::AtomicLazyCell::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| cell.fill(Box::new(1)).is_ok());
        let ours = cell.fill(Box::new(2)).is_ok();
        if let Some(seen) = cell.borrow() {
            assert!(**seen == 1 || **seen == 2);
        }
        assert!(ours != other.join().unwrap());
    });
    assert!(cell.filled());
}
