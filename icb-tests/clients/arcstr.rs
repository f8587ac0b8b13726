//! Strings that are counted; the count is in front of the text, behind a thin pointer.
//!
//! ```toml
//! arcstr = { version = "1.2", features = ["substr"] }
//! ```

use arcstr::{ArcStr, Substr};

#[test]
fn shared_and_dropped() {
    let text = ArcStr::from("shared text");
    let part: Substr = text.substr(7..);
    let other = text.clone();
    let thread = std::thread::spawn(move || {
        let part = other.substr(..6);
        drop(other);
        part.to_string()
    });
    drop(text);
    assert_eq!(part, "text");
    drop(part);
    assert_eq!(thread.join().unwrap(), "shared");
}
