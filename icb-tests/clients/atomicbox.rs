//! A box is taken by one of two threads.
//!
//! ```toml
//! atomicbox = "0.4"
//! ```

use atomicbox::AtomicOptionBox;
use std::sync::atomic::Ordering::AcqRel;

#[test]
fn one_takes_it() {
    let place = AtomicOptionBox::new(Some(Box::new(1)));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| place.take(AcqRel).map_or(0, |number| *number));
        let here = place.swap(Some(Box::new(2)), AcqRel).map_or(0, |number| *number);
        let rest = place.take(AcqRel).map_or(0, |number| *number);
        assert_eq!(here + rest + other.join().unwrap(), 3);
    });
}
