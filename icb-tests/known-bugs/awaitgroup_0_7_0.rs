//! The workers are counted by relaxed accesses alone: nothing orders what they have done before what comes after `wait`.
//! Found: data race: .
//!
//! ```toml
//! awaitgroup = "=0.7.0"
//! pollster = "0.4"
//! ```

use awaitgroup::WaitGroup;
use std::cell::UnsafeCell;
use std::sync::Arc;

struct Shared(UnsafeCell<u32>);

// SAFETY: it is written by the worker, and read when the worker is done.
unsafe impl Sync for Shared {}

impl Shared {
    fn get(&self) -> *mut u32 {
        self.0.get()
    }
}

#[test]
fn what_is_done_is_seen() {
    let (mut group, shared) = (WaitGroup::new(), Arc::new(Shared(UnsafeCell::new(0))));
    let (worker, theirs) = (group.worker(), shared.clone());
    let thread = std::thread::spawn(move || {
        // SAFETY: as above.
        unsafe { *theirs.get() = 1 };
        worker.done();
    });
    pollster::block_on(group.wait());
    // SAFETY: as above.
    assert_eq!(unsafe { *shared.get() }, 1);
    thread.join().unwrap();
}
