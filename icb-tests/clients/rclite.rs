//! Who drops the last clone drops the value.
//!
//! ```toml
//! rclite = "0.4"
//! ```

use rclite::Arc;

#[test]
fn one_gets_it() {
    let one = Arc::new(Box::new(1));
    let two = one.clone();
    let other = std::thread::spawn(move || Arc::into_inner(two));
    let here = Arc::into_inner(one);
    assert!(here.is_some() != other.join().unwrap().is_some());
}

#[test]
fn written_to() {
    let mut one = Arc::new(Box::new(1));
    let two = one.clone();
    let other = std::thread::spawn(move || **two);
    **Arc::make_mut(&mut one) += 1;
    assert_eq!((other.join().unwrap(), **one), (1, 2));
}
