//! A spinning mutex and a spinning once.
//!
//! ```toml
//! spin = "0.10"
//! ```

#[test]
fn a_counter() {
    let (count, once) = (spin::Mutex::new(0), spin::Once::new());
    std::thread::scope(|scope| {
        scope.spawn(|| *count.lock() += *once.call_once(|| 1));
        *count.lock() += *once.call_once(|| 1);
    });
    assert_eq!(*count.lock(), 2);
}
