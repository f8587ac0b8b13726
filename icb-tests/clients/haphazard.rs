//! A hazard pointer to what another thread replaces, retires and reclaims.
//!
//! ```toml
//! haphazard = "0.1"
//! ```

use haphazard::{AtomicPtr, Domain, HazardPointer};
use std::sync::Arc;

#[test]
fn replaced_while_read() {
    let shared = Arc::new(AtomicPtr::from(Box::new(42)));
    let theirs = shared.clone();
    let thread = std::thread::spawn(move || {
        let mut hazard = HazardPointer::new();
        let seen = *theirs.safe_load(&mut hazard).unwrap();
        assert!(seen == 42 || seen == 43);
    });
    let old = shared.swap(Box::new(43)).unwrap();
    // SAFETY: nobody gets the old pointer any more, and it is retired once.
    unsafe { old.retire() };
    Domain::global().eager_reclaim();
    thread.join().unwrap();
}
