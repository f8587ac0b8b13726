//! A pointer is replaced while others load it.
//!
//! ```toml
//! aarc = "0.4"
//! ```

use aarc::{Arc, AtomicArc, CompareExchange};

#[test]
fn replaced_while_read() {
    let place = AtomicArc::new(Box::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let value = place.load().unwrap();
            assert!([1, 2].contains(&**value));
        });
        place.store(Some(&Arc::new(Box::new(2))));
        place.store(Some(&Arc::new(Box::new(2))));
        place.store(Some(&Arc::new(Box::new(2))));
    });
    assert_eq!(**place.load().unwrap(), 2);
}

#[test]
fn exchanged_once() {
    let (old, place) = (Arc::new(0), AtomicArc::new(None));
    place.store(Some(&old));
    let exchange = |number| {
        let new = Arc::new(number);
        let guard = place.load();
        match guard {
            Some(guard) if *guard == 0 => place.compare_exchange(Some(&guard), Some(&new)).is_ok(),
            _ => false,
        }
    };
    let (mine, theirs) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| exchange(1));
        (exchange(2), theirs.join().unwrap())
    });
    assert!(mine != theirs);
    assert_eq!(*place.load().unwrap(), if mine { 2 } else { 1 });
}
