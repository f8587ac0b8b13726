//! A group's thread does what is spawned.
//!
//! ```toml
//! spawn_groups = "1"
//! ```

use spawn_groups::{Priority, SpawnGroup};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn all_are_waited_for() {
    let count = Arc::new(AtomicU32::new(0));
    let mut group = SpawnGroup::new(1);
    for _ in 0..2 {
        let count = count.clone();
        group.spawn_task(Priority::default(), async move {
            count.fetch_add(1, Relaxed);
        });
    }
    group.wait_non_async();
    assert_eq!(count.load(Relaxed), 2);
}
