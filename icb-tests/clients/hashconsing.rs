//! Two threads make the same term.
//!
//! ```toml
//! hashconsing = "1"
//! ```

use hashconsing::{HConsign, HashConsign};
use std::sync::RwLock;

#[test]
fn equal_terms_are_one() {
    let factory = RwLock::new(HConsign::<u32>::empty());
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| (&factory).mk(1));
        let second = (&factory).mk(1);
        (first.join().unwrap(), second)
    });
    assert_eq!(first.uid(), second.uid());
}
