//! A value is replaced while somebody reads it.
//!
//! ```toml
//! hzrd = "0.1"
//! ```

use hzrd::HzrdCell;

#[test]
fn replaced_while_read() {
    let cell = HzrdCell::new(Box::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let value = cell.read();
            assert!(**value == 1 || **value == 2);
        });
        cell.set(Box::new(2));
    });
    assert_eq!(**cell.read(), 2);
}
