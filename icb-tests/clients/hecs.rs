//! A world of components, each column with a borrow flag, and a free list that many take from at once.
//!
//! ```toml
//! hecs = "0.11"
//! ```

use hecs::World;

#[test]
fn reserved_entities_differ() {
    let mut world = World::new();
    let gone = world.spawn((1u32,));
    world.despawn(gone).unwrap();
    let (one, two) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| world.reserve_entity());
        (world.reserve_entity(), thread.join().unwrap())
    });
    assert_ne!(one, two);
    world.flush();
    assert!(world.contains(one) && world.contains(two));
}

#[test]
fn columns_are_borrowed_at_once() {
    let mut world = World::new();
    let entity = world.spawn((1u32, 2u64));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in world.query::<&mut u32>().iter() {
                *number += 1;
            }
        });
        scope.spawn(|| assert_eq!(*world.get::<&u64>(entity).unwrap(), 2));
    });
    assert_eq!(*world.get::<&u32>(entity).unwrap(), 2);
}
