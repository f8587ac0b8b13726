//! A parker is woken.
//!
//! ```toml
//! parking = "2"
//! ```

#[test]
fn a_parker_is_woken() {
    let (parker, unparker) = parking::pair();
    let thread = std::thread::spawn(move || unparker.unpark());
    parker.park();
    thread.join().unwrap();
}
