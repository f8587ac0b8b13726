//! `std::thread`. Modelled: `spawn`, `Builder`, `scope`, `join`, `is_finished`, `park` and `unpark`, `yield_now`, `sleep`
//! (on the virtual clock), thread-locals with their destructors. In an execution `available_parallelism` is 2 on
//! every machine, so that a schedule means the same everywhere, and threads are numbered in the order in which
//! they are spawned, without a limit on their number but memory; each has the stack that it asks for, and an overflow is a
//! failure. A panic is `std`'s: `join` hands it over, a scope passes it on, and one that nobody takes is a failure. A thread
//! that is detached and can never end is a deadlock. Where `std` parks a thread itself (channels, the end of a scope), a token may be lost. Not modelled: spawn hooks (unstable in `std`) and the operating system's handles of a thread.

pub use ::std::thread::Result;

mod builder;
mod current;
mod half;
#[macro_use]
pub(crate) mod local;
mod packet;
mod scope;

pub use builder::{Builder, JoinHandle, spawn};
pub(crate) use current::name_first;
pub use current::{Thread, ThreadId, current};
pub use local::{AccessError, LocalKey};
pub use scope::{Scope, ScopedJoinHandle, scope};

use crate::door::{self, Action};
use crate::sync::Barrier;
use ::std::io;
use ::std::num::NonZero;
use ::std::time::Duration;

/// Processors that `available_parallelism` reports in an execution.
pub(crate) const MODELLED_PARALLELISM: NonZero<usize> = NonZero::new(2).unwrap();

/// Mirrors `std::thread::yield_now`: the thread may go on, or any other may run.
#[inline(always)]
#[track_caller]
pub fn yield_now() {
    if !door::pause(Action::Yield, Duration::ZERO) {
        ::std::thread::yield_now();
    }
}

/// Mirrors `std::thread::sleep`, on the virtual clock.
#[inline(always)]
#[track_caller]
pub fn sleep(dur: Duration) {
    if door::limited(Some(dur)).is_none() {
        sleep_for_ever();
    }
    if !door::pause(Action::Sleep, dur) {
        ::std::thread::sleep(dur);
    }
}

/// Waits for somebody who never comes, in an execution. Where the thread unwinds it does not wait.
#[cold]
#[track_caller]
fn sleep_for_ever() {
    if door::active() {
        Barrier::new(2).wait();
    }
}

/// Mirrors `std::thread::sleep_ms`.
#[track_caller]
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::sleep`")]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(u64::from(ms)));
}

/// Mirrors `std::thread::park`.
#[track_caller]
pub fn park() {
    if !door::park(None) {
        ::std::thread::park();
    }
}

/// Mirrors `std::thread::park_timeout`.
#[track_caller]
pub fn park_timeout(dur: Duration) {
    if !door::park(Some(dur)) {
        ::std::thread::park_timeout(dur);
    }
}

/// Mirrors `std::thread::park_timeout_ms`.
#[track_caller]
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::park_timeout`")]
pub fn park_timeout_ms(ms: u32) {
    park_timeout(Duration::from_millis(u64::from(ms)));
}

/// Mirrors `std::thread::panicking`.
#[inline]
#[must_use]
pub fn panicking() -> bool {
    door::unwinding()
}

/// Mirrors `std::thread::available_parallelism`; 2 in an execution.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    if door::active() { Ok(MODELLED_PARALLELISM) } else { ::std::thread::available_parallelism() }
}
