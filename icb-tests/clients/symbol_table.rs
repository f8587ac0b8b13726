//! Two intern the same string.
//!
//! ```toml
//! symbol_table = { version = "0.5", features = ["global"] }
//! ```

use symbol_table::{GlobalSymbol, SymbolTable};

#[test]
fn the_same_string() {
    let table = SymbolTable::<16>::default();
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| table.intern("same"));
        let ours = table.intern("same");
        assert_eq!(ours, theirs.join().unwrap());
        assert_eq!(table.resolve(ours), "same");
    });
}

#[test]
fn a_global_one() {
    let thread = std::thread::spawn(|| GlobalSymbol::new("same"));
    assert_eq!(GlobalSymbol::new("same"), thread.join().unwrap());
}
