//! A reader that becomes a writer, and another writer.
//!
//! ```toml
//! async-rwlock = "1"
//! pollster = "0.4"
//! ```

use async_rwlock::{RwLock, RwLockUpgradableReadGuard};
use pollster::block_on;

#[test]
fn increments_are_not_lost() {
    let count = RwLock::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async {
                let read = count.upgradable_read().await;
                let seen = *read;
                let mut write = RwLockUpgradableReadGuard::upgrade(read).await;
                assert_eq!(*write, seen);
                *write += 1;
            });
        });
        *block_on(count.write()) += 1;
    });
    assert_eq!(*block_on(count.read()), 2);
}
