//! Nothing orders what was done before an event of the busy kind is set with what comes after the wait for it.
//! Found: data race: .
//!
//! ```toml
//! raw_sync = "=0.1.5"
//! ```

use raw_sync::Timeout;
use raw_sync::events::{BusyEvent, EventImpl, EventInit, EventState};
use std::cell::UnsafeCell;

struct Shared(UnsafeCell<u32>, Box<dyn EventImpl>);

// SAFETY: the value is written before the event is set, and read when it is.
unsafe impl Sync for Shared {}

#[test]
fn what_came_before_the_event_is_seen() {
    let mut memory = [0; 16];
    // SAFETY: the memory is long enough, and stays as long as the event.
    let event = unsafe { BusyEvent::new(memory.as_mut_ptr(), true) }.unwrap().0;
    let shared = Shared(UnsafeCell::new(0), event);
    std::thread::scope(|scope| {
        let shared = &shared;
        scope.spawn(move || {
            // SAFETY: as above.
            unsafe { *shared.0.get() = 1 };
            shared.1.set(EventState::Signaled).unwrap();
        });
        shared.1.wait(Timeout::Infinite).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { *shared.0.get() }, 1);
    });
}
