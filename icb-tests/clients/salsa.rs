//! Two threads ask for what is computed once.
//!
//! ```toml
//! salsa = "0.26"
//! ```

#[salsa::input]
struct Number {
    value: u32,
}

#[salsa::tracked]
fn double(db: &dyn salsa::Database, number: Number) -> u32 {
    number.value(db) * 2
}

#[test]
fn both_get_it() {
    let db = salsa::DatabaseImpl::default();
    let number = Number::new(&db, 3);
    let theirs = db.clone();
    let thread = std::thread::spawn(move || double(&theirs, number));
    assert_eq!(double(&db, number), 6);
    assert_eq!(thread.join().unwrap(), 6);
}
