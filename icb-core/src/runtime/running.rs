//! What runs on this OS thread: an execution, which the doors of the mirrored library and the hooks find here.

use super::execution::Execution;
use std::cell::{Cell, UnsafeCell};

thread_local! {
    /// What [`running`] answers; null: nothing. Set by [`Running::during`] alone.
    pub(super) static RUNNING: Cell<*const Running> = const { Cell::new(std::ptr::null()) };
}

/// The execution that runs on this OS thread.
pub(crate) struct Running {
    pub(super) execution: UnsafeCell<Execution>,
    /// Somebody has access to it: what is allocated now is the engine's own.
    pub(super) at_work: Cell<bool>,
    /// The bits with which the exchange succeeds that is about to be announced.
    pub(super) expected: Cell<u64>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

impl Running {
    /// Runs `f` with this as what runs on this OS thread.
    pub(super) fn during(&self, f: impl FnOnce()) {
        struct Before(*const Running);
        impl Drop for Before {
            fn drop(&mut self) {
                RUNNING.set(self.0);
            }
        }
        let _before = Before(RUNNING.replace(self));
        f();
    }

    /// Access for a moment: `f` must not lead back here and must not switch coroutines.
    #[inline(always)]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Execution) -> R) -> R {
        // SAFETY: the execution is reached only through `RUNNING` on its own OS thread, and the closures passed in
        // this module neither call user code nor suspend, so no other reference to it exists meanwhile.
        let execution = unsafe { &mut *self.execution.get() };
        self.at_work.set(true);
        let result = f(execution);
        self.at_work.set(false);
        result
    }

    /// [`with`](Self::with), where nothing is allocated or freed.
    #[inline(always)]
    pub(super) fn quickly<R>(&self, f: impl FnOnce(&mut Execution) -> R) -> R {
        // SAFETY: as in `with`.
        f(unsafe { &mut *self.execution.get() })
    }

    /// Where it is looked whether somebody does the same again: what the caller has in registers. A part of what the program is compiled to, so that these are
    /// the program's.
    #[inline(always)]
    pub(super) fn note_registers(&self) {
        // SAFETY: as in `with`.
        let e = unsafe { &mut *self.execution.get() };
        if e.notes_registers && !self.at_work.get() {
            e.registers.read_here();
            e.registers_noted();
        }
    }

    /// Access where a closure would stand in the way of the optimiser.
    ///
    /// # Safety
    /// As long as the reference is in use, nothing must lead back here, and no coroutine must be switched to; where something may be
    /// allocated, `at_work` says that the engine does it.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the cell is in this type")]
    pub(super) unsafe fn get(&self) -> &mut Execution {
        // SAFETY: the caller's promise; see `with`.
        unsafe { &mut *self.execution.get() }
    }
}

/// The execution that runs on this OS thread, for the doors of the mirrored library: not while the engine is at work, which comes to a door
/// only by a global allocator that uses what is mirrored. A part of what the program is compiled to: as a part of a function of ours it would
/// make that function keep whatever it was given out of its way.
#[inline(always)]
pub(super) fn running() -> Option<&'static Running> {
    running_at_all().filter(|running| !running.at_work.get())
}

/// The execution that runs on this OS thread, be the engine at work or not.
#[inline(always)]
pub(super) fn running_at_all() -> Option<&'static Running> {
    // SAFETY: the reference is used only by the calling operation, which runs on a coroutine of this execution (or
    // in its panic hook); `CoroutineProgram::run` keeps the execution in place until all of them are over or given
    // up for good.
    unsafe { RUNNING.with(Cell::get).as_ref() }
}

/// What comes next is an operation that a loop may try again and again. A part of what the program is compiled to, so that the registers are the program's, where it
/// is looked whether the loop does the same each time.
#[inline(always)]
pub fn note_registers() {
    if let Some(running) = running_at_all() {
        running.note_registers();
    }
}
