//! Two threads lock the same key.
//!
//! ```toml
//! lockable = "0.2"
//! ```

use lockable::{LockableHashMap, SyncLimit};

#[test]
fn one_after_the_other() {
    let map = LockableHashMap::<u32, u32>::new();
    let add = || {
        let mut guard = map.blocking_lock(1, SyncLimit::no_limit()).unwrap();
        let old = guard.value().copied().unwrap_or(0);
        guard.insert(old + 1);
    };
    std::thread::scope(|scope| {
        scope.spawn(add);
        add();
    });
    assert_eq!(map.into_entries_unordered().collect::<Vec<_>>(), [(1, 2)]);
}
