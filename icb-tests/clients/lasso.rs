//! Two threads give one string its number.
//!
//! ```toml
//! lasso = { version = "0.7", features = ["multi-threaded"] }
//! ```

use lasso::ThreadedRodeo;

#[test]
fn one_number() {
    let strings: ThreadedRodeo = ThreadedRodeo::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| strings.get_or_intern("word"));
        let number = strings.get_or_intern("word");
        assert_eq!(strings.resolve(&number), "word");
        assert_eq!(other.join().unwrap(), number);
    });
    assert_eq!(strings.len(), 1);
}
