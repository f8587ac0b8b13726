//! Two threads intern the same string, and forget it.
//!
//! ```toml
//! string_cache = "0.11"
//! ```

use string_cache::DefaultAtom;

#[test]
fn the_same_is_the_same() {
    let intern = || DefaultAtom::from("longer than seven bytes");
    std::thread::scope(|scope| {
        scope.spawn(|| drop(intern()));
        let (one, other) = (intern(), intern());
        assert_eq!(one, other);
        assert_eq!(&*one, "longer than seven bytes");
    });
}
