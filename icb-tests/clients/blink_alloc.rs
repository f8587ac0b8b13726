//! An allocator that moves a pointer, shared by threads.
//!
//! ```toml
//! blink-alloc = { version = "0.4", features = ["sync"] }
//! ```

use blink_alloc::SyncBlinkAlloc;
use std::alloc::Layout;

#[test]
fn places_differ() {
    let mut arena = SyncBlinkAlloc::new();
    let layout = Layout::new::<u64>();
    let take = |value: u64| {
        let place = arena.allocate(layout).unwrap().cast::<u64>();
        // SAFETY: the place is large enough, aligned, and given to nobody else.
        unsafe { place.write(value) };
        place.as_ptr() as usize
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| take(1));
        assert_ne!(take(2), thread.join().unwrap());
    });
    arena.reset();
}
