//! An interned value is dropped while another thread interns it.
//!
//! ```toml
//! internment = { version = "0.8", features = ["arc"] }
//! ```

use internment::ArcIntern;

#[test]
fn drop_and_intern() {
    let first = ArcIntern::new(5);
    let thread = std::thread::spawn(move || drop(first));
    assert_eq!(*ArcIntern::new(5), 5);
    thread.join().unwrap();
}
