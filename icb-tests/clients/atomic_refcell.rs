//! Two threads try to borrow.
//!
//! ```toml
//! atomic_refcell = "0.1"
//! ```

use atomic_refcell::AtomicRefCell;

#[test]
fn one_at_a_time() {
    let cell = AtomicRefCell::new(0);
    let add = || {
        cell.try_borrow_mut().map_or(0, |mut number| {
            *number += 1;
            1
        })
    };
    let sum = std::thread::scope(|scope| {
        let other = scope.spawn(add);
        let read = cell.try_borrow().map_or(0, |number| *number);
        assert!([0, 1].contains(&read));
        add() + other.join().unwrap()
    });
    assert!(sum >= 1);
    assert_eq!(*cell.borrow(), sum);
}
