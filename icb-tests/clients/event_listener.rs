//! A listener is notified.
//!
//! ```toml
//! event-listener = "5"
//! ```

use event_listener::{Event, Listener};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

#[test]
fn a_flag_and_an_event() {
    let (flag, event) = (AtomicBool::new(false), Event::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            flag.store(true, SeqCst);
            event.notify(usize::MAX);
        });
        while !flag.load(SeqCst) {
            let listener = event.listen();
            if flag.load(SeqCst) {
                break;
            }
            listener.wait();
        }
    });
}
