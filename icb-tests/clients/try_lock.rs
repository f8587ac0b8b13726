//! A lock that nobody waits for.
//!
//! ```toml
//! try-lock = "0.2"
//! ```

#[test]
fn one_at_a_time() {
    let lock = try_lock::TryLock::new(0);
    let add = || {
        lock.try_lock().map_or(0, |mut number| {
            *number += 1;
            1
        })
    };
    let sum = std::thread::scope(|scope| {
        let other = scope.spawn(add);
        add() + other.join().unwrap()
    });
    assert_eq!(lock.into_inner(), sum);
    assert!(sum > 0);
}
