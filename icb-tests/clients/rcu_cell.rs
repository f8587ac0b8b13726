//! A value is replaced while others read it.
//!
//! ```toml
//! rcu_cell = "1"
//! ```

use rcu_cell::RcuCell;
use std::sync::Arc;

#[test]
fn replaced_while_read() {
    let cell = Arc::new(RcuCell::some(Box::new(1)));
    let reader = {
        let cell = cell.clone();
        std::thread::spawn(move || **cell.read().unwrap())
    };
    let old = cell.write(Box::new(2)).unwrap();
    assert_eq!(**old, 1);
    assert!([1, 2].contains(&reader.join().unwrap()));
    assert_eq!(Arc::strong_count(&old), 1);
    assert_eq!(**cell.read().unwrap(), 2);
}

#[test]
fn two_updates() {
    let cell = Arc::new(RcuCell::some(0));
    let other = {
        let cell = cell.clone();
        std::thread::spawn(move || drop(cell.update(|value| value.map(|value| *value + 1))))
    };
    cell.update(|value| value.map(|value| *value + 1));
    other.join().unwrap();
    assert_eq!(*cell.read().unwrap(), 2);
}
