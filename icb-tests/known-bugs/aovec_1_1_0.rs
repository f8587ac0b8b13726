//! A reader looks at the length of a vector that another thread pushes to.
//! Found: data race: .
//!
//! ```toml
//! aovec = "=1.1.0"
//! ```

use aovec::Aovec;

#[test]
fn what_was_pushed_is_read() {
    let vector = Aovec::new(2);
    vector.push(1);
    std::thread::scope(|scope| {
        scope.spawn(|| vector.push(2));
        assert_eq!(vector[0], 1);
    });
    assert_eq!(vector[1], 2);
}
