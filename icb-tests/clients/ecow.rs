//! A vector and a string that are copied when they are written to.
//!
//! ```toml
//! ecow = "0.3"
//! ```

use ecow::{EcoString, EcoVec};

#[test]
fn each_has_its_own() {
    let mut one = EcoVec::from([1, 2]);
    let mut two = one.clone();
    let other = std::thread::spawn(move || {
        two.push(3);
        two.len()
    });
    one.push(4);
    assert_eq!(other.join().unwrap(), 3);
    assert_eq!(one[..], [1, 2, 4]);
    let mut text = EcoString::from("longer than what fits in place");
    let same = text.clone();
    let other = std::thread::spawn(move || drop(same));
    text.push('!');
    assert!(text.ends_with("place!"));
    other.join().unwrap();
}
