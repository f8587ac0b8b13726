//! A value is made once.
//!
//! ```toml
//! atomic_once_cell = "0.2"
//! ```

use atomic_once_cell::AtomicOnceCell;

#[test]
fn made_once() {
    let cell = AtomicOnceCell::new();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(**cell.get_or_init(|| Box::new(7)), 7));
        scope.spawn(|| assert!(cell.get().is_none_or(|value| **value == 7)));
        assert_eq!(**cell.get_or_init(|| Box::new(7)), 7);
    });
}

#[test]
fn set_once() {
    let cell = AtomicOnceCell::new();
    let set = std::thread::scope(|scope| {
        let other = scope.spawn(|| cell.set(Box::new(1)).is_ok());
        let mine = cell.set(Box::new(2)).is_ok();
        (mine, other.join().unwrap())
    });
    assert!(set.0 != set.1, "one of them sets it");
    assert_eq!(**cell.get().unwrap(), if set.0 { 2 } else { 1 });
}
