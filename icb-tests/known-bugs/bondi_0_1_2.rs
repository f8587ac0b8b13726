//! A reader looks with a relaxed load whether the writer has gone on.
//! Found: data race.
//!
//! ```toml
//! bondi = "=0.1.2"
//! ```

use bondi::Bondi;

#[test]
fn one_message() {
    let bondi = Bondi::new(2);
    let writer = bondi.get_tx().unwrap();
    let reader = bondi.get_rx().unwrap();
    let thread = std::thread::spawn(move || writer.write(7));
    assert_eq!(reader.read(), 7);
    thread.join().unwrap();
}
