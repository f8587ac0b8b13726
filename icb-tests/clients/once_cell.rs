//! Two threads initialise one cell.
//!
//! ```toml
//! once_cell = "1"
//! ```

use once_cell::sync::{Lazy, OnceCell};

static SHARED: Lazy<u32> = Lazy::new(|| 7);

#[test]
fn one_initialisation() {
    let cell = OnceCell::new();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(*cell.get_or_init(|| 1), 1));
        assert_eq!(*cell.get_or_init(|| 1), 1);
        assert_eq!(*SHARED, 7);
    });
}

#[test]
fn one_static() {
    let thread = std::thread::spawn(|| *SHARED);
    assert_eq!(*SHARED + thread.join().unwrap(), 14);
}
