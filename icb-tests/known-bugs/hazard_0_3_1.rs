//! A reader marks a pointer and does not see that it has been replaced, and the writer does not see the mark.
//! Found: use after free: .
//! Options: --weak-memory
//!
//! ```toml
//! hazard = "=0.3.1"
//! ```

use hazard::{BoxMemory, Memory, Pointers};
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

struct Shared(Pointers<u32, BoxMemory>);

// SAFETY: each thread names itself by a number of its own.
unsafe impl Sync for Shared {}

impl Shared {
    fn pointers(&self) -> &Pointers<u32, BoxMemory> {
        &self.0
    }
}

#[test]
fn what_is_marked_stays() {
    let pointers = Shared(Pointers::new(BoxMemory, 2, 1, 0));
    let shared = AtomicPtr::new(BoxMemory.allocate(1));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let marked = pointers.pointers().mark(0, 0, &shared);
            // SAFETY: it is marked.
            let value = unsafe { *marked };
            assert!(value == 1 || value == 2);
            pointers.pointers().clear(0, 0);
        });
        let old = shared.swap(BoxMemory.allocate(2), SeqCst);
        pointers.pointers().retire(1, old);
    });
    // SAFETY: nobody else has it any more.
    unsafe { BoxMemory.deallocate(shared.load(SeqCst)) };
}
