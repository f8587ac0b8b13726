//! Who has read what a hazard pointer kept alive says so with a relaxed store.
//! Found: memory is freed after it has been read.
//!
//! ```toml
//! peril = "=0.4.2"
//! ```

use peril::{HazardPointer, HazardRecord, HazardRegistry, HazardValue, Ordering};
use std::sync::Arc;

#[test]
fn no_increment_is_lost() {
    let shared = Arc::new((HazardPointer::new(HazardValue::boxed(0)), HazardRegistry::default()));
    let increment = |shared: &(HazardPointer<u32>, HazardRegistry<u32>)| {
        let mut record = HazardRecord::default();
        loop {
            let scope = shared.0.protect(&shared.1, &mut record);
            let next = *scope.as_ref().unwrap() + 1;
            if scope.compare_exchange(HazardValue::boxed(next), Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                break;
            }
        }
    };
    let other = shared.clone();
    let thread = std::thread::spawn(move || increment(&other));
    increment(&shared);
    thread.join().unwrap();
    let mut record = HazardRecord::default();
    assert_eq!(shared.0.protect(&shared.1, &mut record).as_ref(), Some(&2));
}
