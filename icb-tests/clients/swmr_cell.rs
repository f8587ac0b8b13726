//! A value is replaced while somebody reads it.
//!
//! ```toml
//! swmr-cell = "0.3"
//! ```

#[test]
fn replaced_while_read() {
    let mut cell = swmr_cell::SwmrCell::new(Box::new(1));
    let reader = cell.local_reader();
    let thread = std::thread::spawn(move || {
        let value = reader.pin();
        assert!([1, 2, 3].contains(&**value));
    });
    cell.store(Box::new(2));
    cell.store(Box::new(3));
    cell.collect();
    thread.join().unwrap();
    assert_eq!(**cell.get(), 3);
}
