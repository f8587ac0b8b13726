//! A cell is set by one thread, read by another, and waited for.
//!
//! ```toml
//! state = "0.6"
//! ```

use state::InitCell;

#[test]
fn one_value_is_set() {
    let cell = InitCell::new();
    std::thread::scope(|scope| {
        scope.spawn(|| cell.set(Box::new(1)));
        scope.spawn(|| assert_eq!(**cell.wait(), 1));
        let own = cell.get_or_init(|| Box::new(1));
        assert_eq!(**own, 1);
    });
}
