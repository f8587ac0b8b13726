//! Threads that cannot be unwound: some programs abort when they are (a guard whose destructor aborts, a destructor that
//! panics while a panic is under way), and they are right, for their own panics. When an execution is given up
//! such a thread is left where it is, in the middle of its unwinding.
//!
//! `std` counts the panics under way of each thread of the system, and a panic that is left is never caught. All threads of
//! an execution share one thread of the system, so what was left is caught here in its stead: with a copy of the
//! unwinder's exception object, taken beforehand. If that cannot be had (another unwinder, another allocator), the
//! process aborts as it would without this.

use super::running::running;
use super::{allocator, perform};
use std::alloc::{Layout, alloc};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::OnceLock;

/// Words of the exception object of Rust's panics: its class, a function, two words of the unwinder's, a mark, the payload.
const WORDS: usize = 7;
/// What it is allocated with: in newer releases it is aligned as the unwinder wants it.
const LAYOUTS: [Layout; 2] = [Layout::new::<[usize; WORDS]>(), Layout::new::<AlignedException>()];

#[repr(C, align(16))]
struct AlignedException([usize; WORDS]);

#[derive(Clone, Copy)]
struct Exception {
    words: [usize; WORDS],
    layout: Layout,
}

/// First word of every such object.
const CLASS: usize = u64::from_ne_bytes(*b"MOZ\0RUST") as usize;
/// More panics than can be under way in threads that were left by one execution.
const MAX_LEFT: usize = 10_000;

/// The payload of the panic that is copied. Without a size, so that copies share nothing.
struct Copied;

static COPIED: OnceLock<Option<Exception>> = OnceLock::new();

unsafe extern "C-unwind" {
    fn _Unwind_RaiseException(exception: *mut [usize; WORDS]) -> i32;
}

/// Called before an execution. Not where executions are sequential, for tools that watch over memory. And not under a debugger,
/// which would stop at the panic.
pub(super) fn prepare() {
    COPIED.get_or_init(|| if is_traced() { None } else { LAYOUTS.into_iter().find_map(copy) });
}

/// Whether a debugger watches the process.
fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// The exception object of a panic under way: the block of that size that was allocated last, known by its class.
fn copy(layout: Layout) -> Option<Exception> {
    struct Look<'a>(&'a mut Option<[usize; WORDS]>);
    impl Drop for Look<'_> {
        fn drop(&mut self) {
            let block: *const [usize; WORDS] = allocator::latest().cast();
            if !block.is_null() {
                // SAFETY: the block has at least this size and has not been freed; any words are words.
                let seen = unsafe { block.read_volatile() };
                *self.0 = (seen[0] == CLASS).then_some(seen);
            }
        }
    }
    let mut found = None;
    allocator::look_for(layout.size());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _look = Look(&mut found);
        resume_unwind(Box::new(Copied));
    }));
    allocator::look_for(0);
    drop(caught);
    found.map(|words| Exception { words, layout })
}

/// Catches the panics that threads which were left would never catch.
pub(super) fn settle() {
    let Some(copied) = COPIED.get().copied().flatten() else { return };
    for _ in 0..MAX_LEFT {
        if !std::thread::panicking() {
            return;
        }
        // SAFETY: no layout is empty.
        let exception: *mut [usize; WORDS] = unsafe { alloc(copied.layout) }.cast();
        if exception.is_null() {
            return;
        }
        // SAFETY: the block has room for the words, and is aligned for them.
        unsafe { ptr::write(exception, copied.words) };
        // SAFETY: a complete exception object of a panic, in a block of its own with the layout that the runtime frees. Its
        // payload has no size, so that it may be there more than once.
        let caught = catch_unwind(|| unsafe {
            let _error = _Unwind_RaiseException(exception);
        });
        drop(caught);
    }
}

/// The calling thread is about to abort the process. Where that is because it is unwound, since its execution is given up,
/// it goes no further instead, and nothing is unwound from now on. Else returns.
pub fn leave_at_abort() {
    let Some(running) = running() else { return };
    if !running.with(|e| e.unwinds_one) || !COPIED.get().is_some_and(Option::is_some) {
        return;
    }
    running.with(|e| e.never_unwinds = true);
    perform::stay(running);
}
