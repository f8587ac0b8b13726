//! A value is replaced while others look at it.
//!
//! ```toml
//! arcshift = "0.4"
//! ```

use arcshift::ArcShift;

#[test]
fn replaced_while_read() {
    let mut mine = ArcShift::new(Box::new(1));
    let mut theirs = mine.clone();
    let thread = std::thread::spawn(move || assert!([1, 2].contains(&**theirs.get())));
    mine.update(Box::new(2));
    assert_eq!(**mine.get(), 2);
    thread.join().unwrap();
    assert_eq!(mine.try_into_inner(), Some(Box::new(2)));
}

#[test]
fn two_updates() {
    let mut mine = ArcShift::new(0);
    let mut theirs = mine.clone();
    let thread = std::thread::spawn(move || {
        theirs.rcu(|number| number + 1);
    });
    mine.rcu(|number| number + 1);
    thread.join().unwrap();
    assert_eq!(*mine.get(), 2);
}

#[test]
fn weak() {
    let mine = ArcShift::new(Box::new(1));
    let weak = ArcShift::downgrade(&mine);
    let thread = std::thread::spawn(move || weak.upgrade().map(|mut value| **value.get()));
    drop(mine);
    assert!([None, Some(1)].contains(&thread.join().unwrap()));
}
