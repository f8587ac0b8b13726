//! Two references that go at once each see the other, and the value stays for ever.
//! Found: panic: assertion `left == right` failed: the value is gone.
//!
//! ```toml
//! arc-interner = "=0.7.0"
//! ```

use arc_interner::ArcIntern;

#[test]
fn what_nobody_has_is_gone() {
    let first = ArcIntern::new(1);
    let second = first.clone();
    let thread = std::thread::spawn(move || drop(second));
    drop(first);
    thread.join().unwrap();
    assert_eq!(ArcIntern::<i32>::num_objects_interned(), 0, "the value is gone");
}
