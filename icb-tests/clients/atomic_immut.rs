//! Two updates of a value, and who reads it.
//!
//! ```toml
//! atomic_immut = "0.1"
//! ```

use atomic_immut::AtomicImmut;

#[test]
fn both_updates_are_seen() {
    let number = AtomicImmut::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| number.update(|number| number + 1));
        number.update(|number| number + 1);
    });
    assert_eq!(*number.load(), 2);
}

#[test]
fn an_update_and_stores() {
    let number = AtomicImmut::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| number.update(|number| number + 1));
        number.store(10);
        number.store(20);
    });
    assert!([20, 21].contains(&*number.load()), "the last store is seen");
}
