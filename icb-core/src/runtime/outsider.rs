//! Threads that the model does not have: of the real `std`, or of C. Where one of them uses an object while an execution runs, nothing is
//! proved: neither is it scheduled, nor does the object's lock keep it out.

use super::program_allocator;
use super::running::RUNNING;
use crate::trace::{Failure, FailureKind, table};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Identifies the OS thread on which an execution runs, in a process that runs one test only: there is nobody else who could have business
/// with the test's objects. 0: none.
static WATCHED: AtomicUsize = AtomicUsize::new(0);
/// Somebody has been seen.
static IS_SEEN: AtomicBool = AtomicBool::new(false);
static SEEN: Mutex<Option<Use>> = Mutex::new(None);

struct Use {
    type_name: &'static str,
    location: &'static Location<'static>,
}

/// Identifies the calling OS thread: by where its own variable lies.
fn this_thread() -> usize {
    RUNNING.with(|running| std::ptr::from_ref(running).addr())
}

/// An execution begins on the calling thread.
pub(super) fn watch() {
    WATCHED.store(this_thread(), Relaxed);
}

/// The execution has ended: how it fails because of others, if it does.
pub(super) fn rest() -> Option<Failure> {
    WATCHED.store(0, Relaxed);
    if !IS_SEEN.load(Relaxed) {
        return None;
    }
    IS_SEEN.store(false, Relaxed);
    let Use { type_name, location } = SEEN.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let mut failure = Failure::new(
        FailureKind::Divergence,
        format!(
            "a thread that is not part of the model uses `{}` at {location}: icb neither schedules it nor keeps it out; spawn it with \
             icb_std::thread (std::thread::spawn, in a test written against icb_std, is the system's), or keep what it uses out of the model",
            table::short_type(type_name)
        ),
    );
    failure.location = Some(location.into());
    Some(failure)
}

/// The calling thread uses an object outside any execution.
#[cold]
#[inline(never)]
pub(super) fn outside(type_name: &'static str, address: *const (), location: &'static Location<'static>) {
    program_allocator::note(address.addr());
    // The engine's own threads allocate too.
    if program_allocator::holds(address.addr()) {
        return;
    }
    let watched = WATCHED.load(Relaxed);
    if watched != 0 && watched != this_thread() && !IS_SEEN.load(Relaxed) {
        SEEN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Use { type_name, location });
        IS_SEEN.store(true, Relaxed);
    }
}
