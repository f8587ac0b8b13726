//! A countdown and a semaphore made of events.
//!
//! ```toml
//! rsevents-extra = "0.2"
//! rsevents = "0.3"
//! ```

use rsevents::Awaitable;
use rsevents_extra::{CountdownEvent, Semaphore};
use std::sync::Arc;

#[test]
fn all_have_ticked() {
    let countdown = Arc::new(CountdownEvent::new(2));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let countdown = countdown.clone();
            std::thread::spawn(move || countdown.tick())
        })
        .collect();
    countdown.wait();
    assert_eq!(countdown.count(), 0);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn one_at_a_time() {
    let semaphore = Arc::new(Semaphore::new(1, 1));
    let other = semaphore.clone();
    let thread = std::thread::spawn(move || drop(other.wait()));
    drop(semaphore.wait());
    thread.join().unwrap();
    assert_eq!(semaphore.count(), 1);
}
