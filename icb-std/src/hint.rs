//! `std::hint`. Modelled: [`spin_loop`], a pause at which any thread may go on. Everything else is `std`'s.

pub use ::std::hint::*;

use crate::door::{self, Action};
use ::std::time::Duration;

/// Mirrors `std::hint::spin_loop`: at this point the thread may go on, or any other may run.
#[inline]
#[track_caller]
pub fn spin_loop() {
    if !door::pause(Action::SpinLoop, Duration::ZERO) {
        ::std::hint::spin_loop();
    }
}
