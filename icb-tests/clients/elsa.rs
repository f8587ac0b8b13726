//! Two threads insert into a map and a vector that only grow.
//!
//! ```toml
//! elsa = "1"
//! ```

use elsa::sync::{FrozenMap, FrozenVec, LockFreeFrozenVec};

#[test]
fn a_map() {
    let map = FrozenMap::<u32, Box<u32>>::new();
    let insert = |number: u32| *map.insert(1, Box::new(number));
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(|| insert(1));
        let one = insert(2);
        (one, other.join().unwrap())
    });
    assert_eq!(one, two);
}

#[test]
fn a_vector() {
    let vector = FrozenVec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| vector.push(Box::new(1)));
        assert_eq!(vector.push_get(Box::new(2)), &2);
    });
    assert_eq!(vector.get(0).unwrap() + vector.get(1).unwrap(), 3);
}

#[test]
fn without_locks() {
    let vector = LockFreeFrozenVec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| vector.push(1_u64));
        let place = vector.push(2_u64);
        assert_eq!(vector.get(place), Some(2));
    });
    assert_eq!(vector.get(0).unwrap() + vector.get(1).unwrap(), 3);
}
