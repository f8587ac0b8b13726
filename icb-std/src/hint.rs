//! `std::hint`. Modelled: [`spin_loop`], a pause at which any thread may go on; a thread that comes to it again having
//! read only unchanged values waits for a change. Not modelled: everything else, which is `std`'s and tells the compiler
//! things, not other threads.

pub use ::std::hint::*;

use crate::door::{self, Action};
use ::std::time::Duration;

/// Mirrors `std::hint::spin_loop`: at this point the thread may go on, or any other may run.
#[inline(always)]
#[track_caller]
pub fn spin_loop() {
    if !door::pause(Action::SpinLoop, Duration::ZERO) {
        ::std::hint::spin_loop();
    }
}
