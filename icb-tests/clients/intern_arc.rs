//! Two threads intern the same value.
//!
//! ```toml
//! intern-arc = "0.6"
//! ```

#[test]
fn equal_values_are_one() {
    let interner = intern_arc::HashInterner::<String>::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| interner.intern_sized("a".to_owned()));
        let ours = interner.intern_sized("a".to_owned());
        assert!(ours == other.join().unwrap());
    });
}
