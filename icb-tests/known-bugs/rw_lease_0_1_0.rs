//! A writer that finds a reader gets its claim back to try it again, but emptied: it never comes in, and what it has marked is never taken back.
//! Found: the reader has gone.
//!
//! ```toml
//! rw_lease = "=0.1.0"
//! ```

use rw_lease::RWLease;

#[test]
fn the_writer_comes_in() {
    let lease: RWLease<u32> = RWLease::new(0);
    std::thread::scope(|scope| {
        // An exchange may fail for no reason.
        let reader = std::iter::repeat_with(|| lease.read()).find_map(Result::ok).unwrap();
        let thread = scope.spawn(move || drop(reader));
        if let Err(again) = lease.write().ok().unwrap().upgrade() {
            thread.join().unwrap();
            assert!(again.upgrade().is_ok(), "the reader has gone");
        }
    });
}
