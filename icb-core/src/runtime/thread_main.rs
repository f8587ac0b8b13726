//! What a thread of an execution does from its first instruction on its own stack to its last: it is begun, runs its closure, drops its thread-local values, and ends.

use super::calls::{ThreadBody, ThreadEnd, ThreadMain};
use super::coroutine::Job;
use super::execution::Execution;
use super::running::{Running, running};
use super::threads::Life;
use super::{panics, registers};
use crate::program::End;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// The test closure, as what thread 0 does. The closure is the program's.
pub(super) static MAIN: ThreadBody = ThreadBody { run: run_main, discard: |_| () };

/// # Safety
/// The pointer is to the closure of a program that runs.
unsafe fn run_main(closure: NonNull<()>) -> ThreadEnd {
    // SAFETY: the caller's promise.
    let main = unsafe { closure.cast::<Arc<dyn Fn() + Send + Sync>>().as_ref() };
    match catch_unwind(AssertUnwindSafe(|| main())) {
        Ok(()) => ThreadEnd::Returned,
        Err(payload) => ThreadEnd::Panicked(Some(payload)),
    }
}

impl Job for ThreadMain {
    fn run(self) {
        let Some(running) = running() else { return };
        if running.quickly(|e| e.compares_stacks) {
            registers::clear_stack();
        }
        let marker = 0u8;
        let bottom = (&raw const marker).addr();
        if running.quickly(|e| e.giving_up) {
            return drop_unused(running, self, bottom);
        }
        running.with(|e| {
            e.threads.mine().stack_bottom = bottom;
            if e.accesses_hooked {
                e.tell_hooks();
            }
            e.begin_thread();
        });
        let panicked = match self.call() {
            ThreadEnd::Returned => false,
            ThreadEnd::Panicked(payload) => {
                drop_payload(running, payload);
                true
            }
        };
        drop_locals(running);
        end(running, panicked);
    }
}

/// The execution is given up before the thread has begun: it drops what it would have used, on its own stack, since destructors are the program's, and
/// are unwound like other threads.
#[cold]
fn drop_unused(running: &Running, main: ThreadMain, bottom: usize) {
    running.with(|e| {
        let thread = e.threads.mine();
        thread.stack_bottom = bottom;
        thread.life = Life::Live;
    });
    _ = catch_unwind(AssertUnwindSafe(|| drop(main)));
    drop_locals(running);
    running.with(|e| e.threads.mine().life = Life::Ended);
}

/// Drops what the thread has panicked with, unless that is kept for whoever joins: destructors are the program's, and take steps.
#[cold]
fn drop_payload(running: &Running, payload: Option<Box<dyn Any + Send>>) {
    if catch_unwind(AssertUnwindSafe(|| drop(payload))).is_err() {
        running.with(|e| panics::note_uncaught(e, "the destructor of what the test panicked with panicked"));
    }
}

/// Drops the thread-local values, the latest first; destructors may set new ones. Those that need no destructor can be used
/// up to the end.
#[inline]
fn drop_locals(running: &Running) {
    if !running.quickly(|e| e.threads.mine().locals.is_empty()) {
        drop_some_locals(running);
    }
}

#[cold]
fn drop_some_locals(running: &Running) {
    while let Some((value, drop)) = running.with(|e| {
        let current = e.current;
        let left = || e.threads[current].locals.iter().enumerate().rev().filter(|(_, local)| !local.gone);
        let (next, _) = left().find(|(_, local)| local.needs_drop).or_else(|| left().next())?;
        let local = &mut e.threads[current].locals[next];
        local.gone = true;
        Some((local.value, local.drop))
    }) {
        // SAFETY: `set_local` was given the value together with the function that drops it; `gone` sees to it that this
        // happens once.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { drop(value) }));
        if dropped.is_err() {
            running.with(|e| panics::note_uncaught(e, "a thread-local destructor panicked"));
        }
    }
    running.with(|e| {
        let current = e.current;
        e.threads[current].locals.clear();
    });
}

/// The calling thread's closure is over.
#[inline]
pub(super) fn end(running: &Running, panicked: bool) {
    let is_usual = running.quickly(|e| !e.wants_more && !panicked);
    if !is_usual {
        return end_attentively(running, panicked);
    }
    running.with(|e| {
        e.end_thread();
        if e.ended_count == e.thread_count {
            e.stop(End::Passed);
        } else if e.attention {
            e.decide_telling();
        } else {
            e.decide_at_end();
        }
    });
}

#[inline(never)]
fn end_attentively(running: &Running, panicked: bool) {
    running.with(|e| {
        let me = e.current;
        if e.giving_up {
            e.threads[me].life = Life::Ended;
            return;
        }
        e.note_freed();
        e.look_at_futexes();
        e.threads[me].unwinding = false;
        e.threads[me].panicked = panicked;
        if panicked && me == 0 {
            e.end_thread();
            panics::report_main(e);
            return;
        }
        e.end_thread();
        if e.ended_count == e.thread_count {
            e.stop(End::Passed);
        } else {
            e.decide();
        }
    });
}

pub(super) fn execution_is_unwinding(e: &mut Execution) -> bool {
    let thread = &mut e.threads[e.current];
    if thread.unwinding && !std::thread::panicking() {
        // The program has caught its panic.
        thread.unwinding = false;
    }
    thread.unwinding
}
