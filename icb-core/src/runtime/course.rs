//! One execution from its beginning to its end: it is begun, whoever is chosen is resumed, what is left is unwound, and statics are put back.

use super::calls::ThreadMain;
use super::coroutine::{self, Resumption, Return};
use super::execution::Execution;
use super::program::CoroutineProgram;
use super::threads::{Life, Thread};
use super::{left_panics, outsider, sequential, thread_main};
use crate::program::{Chooser, End, Observer, Outcome};
use crate::trace::{Failure, FailureKind};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Threads that cannot be unwound, over all executions of a program: what each has allocated is never freed.
const MAX_LEFT_BEHIND: u32 = 40_000;

thread_local! {
    /// Whether the last execution on this thread of the system has left threads that could not be unwound.
    static STACKS_LEFT: Cell<bool> = const { Cell::new(false) };
    /// Whether it has not come to the test's end, or has failed there.
    static IS_HALF_WAY: Cell<bool> = const { Cell::new(false) };
}

/// Whether the execution that is over has not come to the test's end, or has failed there: what the test would have done then remains to be done.
#[must_use]
pub fn was_stopped_half_way() -> bool {
    IS_HALF_WAY.get()
}

/// Whether the execution that is over has left threads where they were, with what they own: for what is done at its end
/// ([`on_execution_end`](super::on_execution_end)).
#[must_use]
pub fn stacks_were_left() -> bool {
    STACKS_LEFT.get()
}

impl CoroutineProgram {
    /// Memory is not to be had without end.
    fn check_left_behind(&self) {
        if self.running.with(|e| e.left_behind) >= MAX_LEFT_BEHIND {
            let message = format!(
                "the test leaves the model: when it ends, threads wait in functions of C (futexes of their own, event loops), or \
                 abort or never end when they are unwound, and {MAX_LEFT_BEHIND} of them have been left by now, with their memory; join them, or lower \
                 the bound"
            );
            self.running.with(|e| e.fail(Failure::new(FailureKind::Blocked, message)));
        }
    }

    pub(super) fn start(&self, epoch: u32, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) {
        // SAFETY: the closure is there as long as the program is, which outlives the execution; it is not moved.
        let main = unsafe { ThreadMain::new(NonNull::from(&self.main).cast(), &thread_main::MAIN) };
        // SAFETY: only the lifetime is changed; `finish` removes both pointers before `run` returns.
        let chooser: *mut dyn Chooser = unsafe { std::mem::transmute(std::ptr::from_mut(chooser)) };
        let observer: Option<*mut dyn Observer> = observer.map(|observer| {
            // SAFETY: as above.
            unsafe { std::mem::transmute(std::ptr::from_mut(observer)) }
        });
        self.running.with(|e| {
            if e.settings.owns_statics {
                outsider::watch();
            }
            e.begin(epoch, chooser, observer);
            let executions = &e.heartbeat.executions;
            executions.store(executions.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            e.set_current(0);
            e.create_thread(None, None, None, main);
        });
        // The first decision has one outcome; it is taken here because no thread runs yet.
        self.running.with(Execution::decide_among);
        self.check_left_behind();
    }

    /// Resumes whoever is chosen until the execution has ended.
    pub(super) fn drive(&self) {
        if self.running.with(|e| e.settings.sequential) {
            return sequential::drive(&self.running);
        }
        while let Some(coroutine) = self.running.with(|e| e.chosen()) {
            if coroutine.resume() == Return::Trapped {
                self.running.with(Execution::report_trap);
            }
        }
    }

    /// Brings every thread to its end, or gives its stack up. A coroutine that can be used again stays with its slot.
    pub(super) fn clean_up(&self) {
        let unwind = self.running.with(|e| match &e.end {
            Some(End::Failed(_)) => e.settings.unwind_failed,
            _ => true,
        });
        STACKS_LEFT.set(false);
        let count = self.running.with(|e| {
            IS_HALF_WAY.set(!matches!(e.end, Some(End::Passed)));
            e.giving_up = true;
            e.attend();
            let all_are_over = e.ended_count == e.thread_count && !e.has_large_stacks;
            if all_are_over { 0 } else { e.thread_count }
        });
        // Latest first: what a thread has borrowed for its own threads is still there when these are unwound.
        for thread in (0..count).rev() {
            if !self.running.with(|e| e.is_over(thread)) {
                self.clean_up_after(thread, unwind);
            }
            // The program has allocated it.
            drop(self.running.with(|e| e.threads[thread].name.take()));
        }
        if self.running.with(|e| std::mem::take(&mut e.left_panicking) || e.never_unwinds) {
            left_panics::settle();
        }
    }

    #[cold]
    fn clean_up_after(&self, thread: usize, unwind: bool) {
        let (life, coroutine, in_foreign) = self.running.with(|e| {
            let thread = &mut e.threads[thread];
            (thread.life, thread.coroutine.take(), thread.in_foreign)
        });
        let is_left = in_foreign || self.running.with(|e| e.never_unwinds);
        let unwind = unwind && (!is_left || life == Life::Unborn);
        // A thread that never began drops what it would have used: its destructors are the program's, and may be unwound.
        let job = self.running.with(|e| e.threads[thread].job.take());
        _ = catch_unwind(AssertUnwindSafe(|| drop(job)));
        let Some(coroutine) = coroutine else { return };
        if matches!(life, Life::Live | Life::Unborn) && unwind {
            self.running.with(|e| {
                e.set_current(thread);
                e.unwinds_one = true;
                e.give_up_steps = 0;
                e.quarantine.enter(thread);
            });
            if coroutine.resumption().resume() == Return::Trapped {
                // Destructors in a state that the program never comes to by itself: it is no failure.
                coroutine::take_fault();
            }
            self.running.with(|e| e.unwinds_one = false);
        }
        if self.running.with(|e| e.threads[thread].life == Life::Ended) {
            self.running.with(|e| e.pool.put(coroutine));
        } else {
            coroutine.leak();
            STACKS_LEFT.set(true);
            self.running.with(|e| {
                e.left_behind += u32::from(unwind || is_left);
                e.left_panicking |= life == Life::Live && e.threads[thread].unwinding;
            });
        }
    }

    /// Puts the statics back.
    pub(super) fn restore_statics(&self) {
        if self.running.with(|e| e.at_end.is_empty() && e.statics.is_empty()) {
            return;
        }
        let (at_end, statics) =
            self.running.with(|e| (std::mem::take(&mut e.at_end), std::mem::take(&mut e.statics)));
        at_end.run();
        statics.put_back();
    }

    pub(super) fn finish(&self) -> Outcome {
        let outsider = outsider::rest();
        let mut outcome = self.running.with(|e| {
            e.detach();
            if let Some(failure) = outsider {
                e.end = Some(End::Failed(Box::new(failure)));
            }
            // An execution that was given up and ran out counts only if it has failed.
            let counts = |end: &End| !e.runs_out || matches!(end, End::Failed(_));
            let end = e.end.take().filter(counts).unwrap_or(End::GivenUp);
            Outcome {
                end,
                step_count: e.step_count,
                thread_count: e.thread_count as u32,
                fingerprint: e.fingerprint(),
                promoted: e.promotion,
            }
        });
        if let End::Failed(failure) = &mut outcome.end {
            failure.schedule = self.running.with(|e| e.tape.schedule().with_points(&e.promoted_points()));
            failure.bound = failure.schedule.preemption_count();
            failure.trace.schedule = failure.schedule.clone();
        }
        outcome
    }
}

impl Execution {
    /// The coroutine of the thread that has been chosen; `None` when the execution has ended.
    #[inline]
    pub(super) fn chosen(&mut self) -> Option<Resumption<ThreadMain>> {
        if self.end.is_some() {
            return None;
        }
        self.ledger.thread = self.current;
        self.quarantine.enter(self.current);
        if self.accesses_hooked {
            self.tell_hooks();
        }
        match &self.threads.mine().coroutine {
            Some(coroutine) => Some(coroutine.resumption()),
            None => unreachable!("thread {} was chosen and has no coroutine", self.current),
        }
    }

    /// Whether a thread has ended and its coroutine can stay with its slot.
    #[inline]
    pub(super) fn is_over(&self, thread: usize) -> bool {
        let Thread { life, coroutine, .. } = &self.threads[thread];
        *life == Life::Ended && coroutine.as_ref().is_some_and(|coroutine| self.pool.is_ordinary(coroutine))
    }
}
