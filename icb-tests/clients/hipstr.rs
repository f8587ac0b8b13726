//! A string that two threads share.
//!
//! ```toml
//! hipstr = "0.8"
//! ```

use hipstr::HipStr;

#[test]
fn each_has_its_own() {
    let mut one = HipStr::from("longer than what fits in place".to_owned());
    let part = one.slice(0..26);
    let other = std::thread::spawn(move || part.len());
    one.push_str("!");
    assert_eq!(other.join().unwrap(), 26);
    assert!(one.ends_with("place!"));
}
