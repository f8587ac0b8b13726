//! An entry is removed while somebody looks at it.
//!
//! ```toml
//! idr-ebr = "0.3"
//! ```

use idr_ebr::{EbrGuard, Idr};

#[test]
fn removed_once() {
    let entries = Idr::<Box<u32>>::new();
    let key = entries.insert(Box::new(1)).unwrap();
    let removed = std::thread::scope(|scope| {
        let first = scope.spawn(|| entries.remove(key));
        scope.spawn(|| {
            let guard = EbrGuard::new();
            assert!(entries.get(key, &guard).is_none_or(|entry| **entry == 1));
        });
        entries.remove(key) as u32 + first.join().unwrap() as u32
    });
    assert_eq!(removed, 1);
    assert!(entries.get_owned(key).is_none());
}
