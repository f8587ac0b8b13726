//! A thread that can never run again: it has left its stack, or has accessed what it must not.

use super::coroutine::{self, Coroutine, Fault, Trap};
use super::execution::Execution;
use super::{allocator, image};
use crate::program::Place;
use crate::trace::{Failure, FailureKind, ThreadId, table};
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
    code && !allocator::is_aside()
}

impl Execution {
    /// The running thread can never run again.
    #[cold]
    pub(super) fn report_trap(&mut self) {
        let thread = self.current;
        let fault = coroutine::take_fault();
        let mut failure = match fault.map(|fault| fault.trap) {
            Some(Trap::Access { signal, address }) => access_failure(thread, signal, address),
            Some(Trap::Overflow) | None => self.overflow_failure(),
        };
        // It is over: what lies on the stack now is whoever runs the threads.
        failure.thread = Some(ThreadId::new(thread));
        if self.backtraces {
            let stack = fault.as_ref().map_or(&[][..], Fault::stack);
            let frames = allocator::aside(|| self.resolver.frames(stack));
            let last = self.threads[thread].location.and_then(Place::location);
            failure.location = table::place_in_program(&frames).cloned().or(last);
            failure.trace.failure_backtrace = frames;
        }
        self.fail(failure);
        if let Some(coroutine) = self.threads[thread].coroutine.take() {
            coroutine.leak();
        }
    }

    /// The running thread has come to the end of its stack, and still stands there.
    #[cold]
    pub(super) fn fail_by_overflow(&mut self) {
        let failure = self.overflow_failure();
        self.fail(failure);
    }

    fn overflow_failure(&self) -> Failure {
        let coroutine = self.threads[self.current].coroutine.as_ref();
        let message = format!(
            "{} overflowed its stack of {} bytes; give threads a larger one with --stack-size (or stack_size)",
            ThreadId::new(self.current),
            coroutine.map_or(self.settings.stack_size, Coroutine::stack_size)
        );
        Failure::new(FailureKind::StackOverflow, message)
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

fn access_failure(thread: usize, signal: &str, address: Option<usize>) -> Failure {
    let place = address.map_or_else(
        || "what is no address".to_owned(),
        |address| format!("{address:#x}, where it must not"),
    );
    let message = format!("the process died of {signal}: {} accesses {place}", ThreadId::new(thread));
    Failure::new(FailureKind::Abort, message)
}
