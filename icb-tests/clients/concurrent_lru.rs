//! A value is made once for both who ask for it.
//!
//! ```toml
//! concurrent_lru = "0.2"
//! ```

use concurrent_lru::unsharded::LruCache;

#[test]
fn made_once() {
    let cache = LruCache::<u32, Box<u32>>::new(1);
    let made = std::sync::atomic::AtomicU32::new(0);
    let make = |key: &u32| {
        made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::new(key + 1)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(**cache.get_or_init(1, 1, make).value(), 2));
        assert_eq!(**cache.get_or_init(1, 1, make).value(), 2);
        assert_eq!(**cache.get_or_init(2, 1, make).value(), 3);
    });
    assert!(cache.total_charge() <= 1);
    assert!((2..=3).contains(&made.into_inner()));
}
