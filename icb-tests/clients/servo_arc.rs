//! Clones are dropped by two threads.
//!
//! ```toml
//! servo_arc = "0.6"
//! ```

use servo_arc::Arc;

#[test]
fn the_last_one_drops_it() {
    let mut one = Arc::new(Box::new(1));
    let two = one.clone();
    let other = std::thread::spawn(move || **two);
    **Arc::make_mut(&mut one) += 1;
    assert_eq!(other.join().unwrap(), 1);
    assert_eq!(**one, 2);
}
