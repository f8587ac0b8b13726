//! Threads as nested calls on one stack, without coroutines, for tools that understand sequential programs only (Qadeer and
//! Wu, *KISS*, PLDI 2004, §4; valgrind, AddressSanitizer): a thread that is chosen for the first time is called where the
//! running one stands, and what is freed is freed at once.
//!
//! A thread that has been called runs until it ends, but for those called on top of it: nobody further down goes on
//! before. An execution that chooses otherwise is given up, and so is unwound as a whole. The paper's RAISE, which leaves a
//! thread half-way for good while others go on, is not done here: unwinding a Rust thread drops what it owns, which the
//! abandoned thread would not have done, and others could tell the difference.

use super::calls::ThreadMain;
use super::coroutine::Job;
use super::execution::Execution;
use super::running::Running;
use crate::program::End;

/// Runs the threads that are chosen, until the execution has ended.
pub(super) fn drive(running: &Running) {
    while let Some(job) = running.with(|e| if e.end.is_some() { None } else { chosen(e) }) {
        job.run();
    }
}

/// The thread `me`, on top of the stack, waits until it is chosen: whoever is chosen meanwhile is called. When the execution
/// has ended it returns as well, and everything is being given up.
#[cold]
pub(super) fn wait(running: &Running, me: usize) {
    while let Some(job) = running.with(|e| next(e, me)) {
        job.run();
    }
}

fn next(e: &mut Execution, me: usize) -> Option<ThreadMain> {
    if e.end.is_none()
        && e.current != me
        && let Some(job) = chosen(e)
    {
        return Some(job);
    }
    if e.end.is_some() {
        e.giving_up = true;
        e.attend();
    }
    e.set_current(me);
    None
}

/// What the chosen thread does from its beginning. One that has begun stands further down on the stack and cannot go on.
fn chosen(e: &mut Execution) -> Option<ThreadMain> {
    let job = e.threads[e.current].job.take();
    if job.is_none() {
        e.stop(End::GivenUp);
    }
    job
}
