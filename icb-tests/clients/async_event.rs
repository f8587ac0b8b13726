//! A task waits until a condition is met, and is told to look again.
//!
//! ```toml
//! async-event = "0.2"
//! pollster = "0.4"
//! ```

use async_event::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[test]
fn nobody_waits_for_ever() {
    let shared = Arc::new((Event::new(), AtomicUsize::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = shared.clone();
            std::thread::spawn(move || {
                pollster::block_on(shared.0.wait_until(|| {
                    let count = shared.1.load(Relaxed);
                    let taken =
                        count > 0 && shared.1.compare_exchange(count, count - 1, Relaxed, Relaxed).is_ok();
                    taken.then_some(())
                }));
            })
        })
        .collect();
    for _ in 0..2 {
        shared.1.fetch_add(1, Relaxed);
        shared.0.notify_one();
    }
    for thread in threads {
        thread.join().unwrap();
    }
}
