//! Two objects, locked together.
//!
//! ```toml
//! sharded_mutex = "2"
//! ```

use sharded_mutex::ShardedMutex;

#[test]
fn both_are_changed() {
    let (one, other) = (ShardedMutex::new(1), ShardedMutex::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut both = ShardedMutex::multi_lock([&one, &other]);
            let number = *both[0];
            *both[0] = *both[1];
            *both[1] = number;
        });
        let both = ShardedMutex::multi_lock([&other, &one]);
        assert_eq!(*both[0] + *both[1], 3);
    });
}
