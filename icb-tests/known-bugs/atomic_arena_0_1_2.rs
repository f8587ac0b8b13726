//! A place is given out twice: who takes the first of the free places has read which one is next, and does not see that others have taken both
//! since, and given the first one back.
//! Found: KeyNotReserved.
//!
//! ```toml
//! atomic-arena = "=0.1.2"
//! ```

use atomic_arena::Arena;

#[test]
fn a_place_is_given_out_once() {
    let mut arena = Arena::new(3);
    let controller = arena.controller();
    let thread = std::thread::spawn(move || controller.try_reserve().unwrap());
    let first = arena.insert(1).unwrap();
    let second = arena.insert(2).unwrap();
    arena.remove(first);
    let reserved = thread.join().unwrap();
    arena.insert_with_key(reserved, 3).unwrap();
    arena.insert(4).unwrap();
    assert_eq!(arena.get(second), Some(&2));
}
