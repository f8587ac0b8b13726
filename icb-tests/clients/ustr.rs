//! Two intern the same string.
//!
//! ```toml
//! ustr = "1"
//! ```

use ustr::Ustr;

#[test]
fn the_same_string() {
    let thread = std::thread::spawn(|| Ustr::from("same"));
    let ours = Ustr::from("same");
    let theirs = thread.join().unwrap();
    assert_eq!(ours, theirs);
    assert_eq!(ours.as_str().as_ptr(), theirs.as_str().as_ptr());
}
