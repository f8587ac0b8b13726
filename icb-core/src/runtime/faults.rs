//! A thread that can never run again: it has left its stack, or has accessed what it must not.

use super::coroutine::{self, Coroutine};
use super::execution::Execution;
use super::{allocator, image};
use crate::trace::{Failure, FailureKind, ThreadId};
use std::sync::OnceLock;

/// Where the program's own code lies; looked up beforehand, since a signal handler asks.
static CODE: OnceLock<(usize, usize)> = OnceLock::new();

/// From now on a thread of the program that can never run again ends its execution.
pub(super) fn prepare() {
    CODE.get_or_init(image::constants);
    coroutine::leave_at_faults(is_program_at_work);
}

/// Whether it is the program under test that comes to this instruction, and it holds nothing of the system's: only then can it be left there.
fn is_program_at_work(instruction: usize) -> bool {
    let code = CODE.get().is_some_and(|&(start, end)| (start..end).contains(&instruction));
    code && !allocator::engine_works()
}

impl Execution {
    /// The running thread can never run again.
    #[cold]
    pub(super) fn report_trap(&mut self) {
        let thread = self.current;
        match coroutine::take_fault() {
            Some(fault) => self.fail_by_fault(&fault),
            None => self.fail_by_overflow(),
        }
        if let Some(coroutine) = self.threads[thread].coroutine.take() {
            coroutine.leak();
        }
    }

    #[cold]
    pub(super) fn fail_by_overflow(&mut self) {
        let coroutine = self.threads[self.current].coroutine.as_ref();
        let message = format!(
            "{} overflowed its stack of {} bytes; give threads a larger one with stack_size",
            ThreadId::new(self.current),
            coroutine.map_or(self.settings.stack_size, Coroutine::stack_size)
        );
        self.fail(Failure::new(FailureKind::StackOverflow, message));
    }

    #[cold]
    fn fail_by_fault(&mut self, fault: &coroutine::Fault) {
        let place = fault.address.map_or_else(
            || "what is no address".to_owned(),
            |address| format!("{address:#x}, where it must not"),
        );
        let thread = ThreadId::new(self.current);
        let message = format!("the process died of {}: {thread} accesses {place}", fault.signal);
        let mut failure = Failure::new(FailureKind::Abort, message);
        if self.backtraces {
            let frames = allocator::aside(|| self.resolver.frames(fault.stack()));
            failure.location = crate::trace::table::place_in_program(&frames).cloned();
            failure.trace.failure_backtrace = frames;
        }
        self.fail(failure);
    }

    /// Whether the running thread has come to the reserve of its stack.
    #[inline]
    pub(super) fn is_beyond_stack(&mut self) -> bool {
        let here = 0_u8;
        let here = (&raw const here).addr();
        self.settings.stack_reserve != 0
            && coroutine::running_stack().is_some_and(|stack| {
                stack.contains(&here) && here < stack.start + self.settings.stack_reserve
            })
    }
}
