//! Two threads that run at the same time have a value each.
//!
//! ```toml
//! thread_local = "1"
//! ```

use std::cell::Cell;
use thread_local::ThreadLocal;

#[test]
fn own_values() {
    // A thread that has ended leaves its value to the next one, so the first comes first.
    let mut local = ThreadLocal::new();
    local.get_or(|| Cell::new(1)).set(3);
    std::thread::scope(|scope| {
        scope.spawn(|| local.get_or(|| Cell::new(1)).set(2));
        assert_eq!(local.get().unwrap().get(), 3);
    });
    assert_eq!(local.iter_mut().map(|cell| cell.get()).sum::<i32>(), 5);
}
