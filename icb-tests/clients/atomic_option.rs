//! Two threads take what is in one place.
//!
//! ```toml
//! atomic-option = "0.1"
//! ```

use atomic_option::AtomicOption;
use std::sync::atomic::Ordering::AcqRel;

#[test]
fn one_takes() {
    let place = AtomicOption::new(Box::new(7));
    let got = std::thread::scope(|scope| {
        let other = scope.spawn(|| place.take(AcqRel));
        (place.take(AcqRel), other.join().unwrap())
    });
    assert!(got.0.is_some() != got.1.is_some());
}
