//! A barrier keeps the number of those who are still to come in the same word as a flag, from that flag's bit on: of an odd number the lowest bit is the flag, which
//! says that the rest of the word is the address of somebody who waits. Safe code, and no preemption: with three threads nobody goes on, with seventeen the program
//! accesses memory that is not there.
//! Found: deadlock: .
//! Options: --no-accesses
//!
//! ```toml
//! usync = "=0.2.1"
//! ```

use std::thread;
use usync::Barrier;

#[test]
fn three_meet() {
    let barrier = Barrier::new(3);
    thread::scope(|scope| {
        scope.spawn(|| barrier.wait());
        scope.spawn(|| barrier.wait());
        barrier.wait();
    });
}
