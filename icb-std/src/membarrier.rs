//! `membarrier(2)` (Linux), by which a thread asks for a barrier in all others, so that these need no more than a word to the compiler: a program that has
//! called it in whatever way, before the execution or in it, is taken to mean a fence by each `compiler_fence(SeqCst)`. The call itself is a fence.
//!
//! That is more than such a program gets: two threads that have both said a word to the compiler only are ordered as by fences here.

use crate::door;
use crate::system::{answer_of, system};
use ::std::cell::Cell;
use ::std::ffi::{c_int, c_long};
use ::std::sync::atomic::{AtomicBool, Ordering};

/// Commands that are barriers: for all, for those who have registered, for this process (and its instructions, and its restartable sequences).
const BARRIERS: c_int = 1 | 2 | 8 | 32 | 128;

/// It has been called outside an execution.
static CALLED: AtomicBool = AtomicBool::new(false);

::std::thread_local! {
    /// It has been called in the execution that runs here.
    static CALLED_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Whether compiler fences are meant to be fences.
pub(crate) fn is_relied_on() -> bool {
    CALLED.load(Ordering::Relaxed) || CALLED_HERE.get()
}

/// The system call.
///
/// # Safety
/// As the system call.
pub(crate) unsafe fn membarrier(number: c_long, command: usize, flags: usize, processor: usize) -> c_long {
    // SAFETY: the caller's promise.
    let result = answer_of(unsafe { system(number, command, flags, processor, 0, 0, 0) });
    if result < 0 {
        return result;
    }
    if !door::is_modelled() {
        CALLED.store(true, Ordering::Relaxed);
        return result;
    }
    if !CALLED_HERE.replace(true) {
        door::on_execution_end(Box::new(|| CALLED_HERE.set(false)));
    }
    if command as c_int & BARRIERS != 0 {
        door::without_unwinding(|| _ = door::fence(door::Ordering::SeqCst));
    }
    result
}
