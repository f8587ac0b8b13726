//! Runs a closure as a program of coroutines: one execution at a time, under a chooser.

mod accesses;
mod address_map;
mod addressed;
mod allocator;
mod apart;
mod arena;
mod atomics;
mod backtrace;
mod calls;
mod choice;
mod coasting;
mod coroutine;
mod debugger;
mod decision;
mod execution;
mod foreign;
mod futexes;
mod hashing;
mod histories;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod hooks;
mod idle;
mod image;
mod leaks;
mod ledger;
mod left_panics;
mod memory_troubles;
mod mixed;
mod object;
mod objects;
mod outsider;
mod panics;
mod perform;
mod registers;
mod rounds;
mod sequential;
mod shared_stacks;
mod slots;
mod spinners;
mod statics;
mod telling;
mod threads;
mod time_stamps;
mod turns;
mod uses;
mod weak;

pub use crate::mixing::mixed;
pub use accesses::{instrumented, unseen};
pub use addressed::{
    cell, cell_end, cell_pointer_end, count, count_last, count_left, value_goes, value_gone,
};
pub use allocator::{Allocator, allocation_count, engine_works, is_installed as allocator_is_installed};
pub use apart::{apart, is_apart, leave_apart};
pub use atomics::{AtomicRef, AtomicStep, AtomicType, atomic, atomic_exchange, fence, fence_by_exchange};
pub use backtrace::backtrace_count;
pub use calls::{
    BEGIN_DATE, BEGIN_UPTIME, ThreadBody, ThreadEnd, ThreadMain, caught, choose, current, enter_static,
    epoch, giving_up, go_no_further, has_left, is_finished, join, join_parking, leave, leave_value, let_go,
    limited, local, local_destroyed, now, on_execution_end, outside, panic_handled, panicking, park,
    pause_with, random_key, set_local, spawn, take_over, thread_key, thread_name, thread_path, unpark,
    without_unwinding,
};
pub use coroutine::running_stack;
pub use execution::Settings;
pub use foreign::is_foreign;
pub use futexes::futex_used;
pub use image::initial_bytes;
pub use left_panics::leave_at_abort;
pub use memory_troubles::memory_unmapped;
pub use object::{Effect, Handle, InitialState, ObjectInit, active};
pub(crate) use panics::refuse_inside_a_model;
pub use panics::resumes_unwinding;
pub use registers::Registers;

use crate::program::{Chooser, End, Observer, Outcome, Place, Program};
use crate::recording::Tape;
use crate::trace::{Failure, FailureKind, SourceLocation, ThreadId};
use allocator::Quarantine;
use coroutine::{Coroutine, Job, Resumption, Return};
use execution::{Execution, GiveUp};
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use threads::{Life, Thread};

thread_local! {
    /// What [`running`] answers; null: nothing. Set by [`Running::during`] alone.
    static RUNNING: Cell<*const Running> = const { Cell::new(std::ptr::null()) };
}

/// The execution that runs on this OS thread.
pub(crate) struct Running {
    execution: UnsafeCell<Execution>,
    /// Somebody has access to it: what is allocated now is the engine's own.
    at_work: Cell<bool>,
    /// The bits with which the exchange succeeds that is about to be announced.
    expected: Cell<u64>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

impl Running {
    /// Runs `f` with this as what runs on this OS thread.
    fn during(&self, f: impl FnOnce()) {
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
    fn with<R>(&self, f: impl FnOnce(&mut Execution) -> R) -> R {
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
    fn quickly<R>(&self, f: impl FnOnce(&mut Execution) -> R) -> R {
        // SAFETY: as in `with`.
        f(unsafe { &mut *self.execution.get() })
    }

    /// Where it is looked whether somebody does the same again: what the caller has in registers. A part of what the program is compiled to, so that these are
    /// the program's.
    #[inline(always)]
    fn note_registers(&self) {
        // SAFETY: as in `with`.
        let e = unsafe { &mut *self.execution.get() };
        if e.notes_registers {
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
    unsafe fn get(&self) -> &mut Execution {
        // SAFETY: the caller's promise; see `with`.
        unsafe { &mut *self.execution.get() }
    }
}

/// The execution that runs on this OS thread. A part of what the program is compiled to: as a part of a function of ours it would
/// make that function keep whatever it was given out of its way.
#[inline(always)]
fn running() -> Option<&'static Running> {
    // SAFETY: the reference is used only by the calling operation, which runs on a coroutine of this execution (or
    // in its panic hook); `CoroutineProgram::run` keeps the execution in place until all of them are over or given
    // up for good.
    unsafe { RUNNING.with(Cell::get).as_ref() }
}

/// What comes next is an operation that a loop may try again and again. A part of what the program is compiled to, so that the registers are the program's, where it
/// is looked whether the loop does the same each time.
#[inline(always)]
pub fn note_registers() {
    if let Some(running) = running() {
        running.note_registers();
    }
}

/// Signs of life, for a watchdog on another thread.
#[derive(Debug, Default)]
pub struct Heartbeat {
    executions: AtomicU64,
    steps: AtomicU64,
    /// The word of the last step's [`Place`].
    place: AtomicUsize,
}

impl Heartbeat {
    #[inline]
    fn beat(&self, step: u64, place: Option<Place>) {
        self.steps.store(step, Ordering::Relaxed);
        self.place.store(place.map_or(0, Place::word), Ordering::Relaxed);
    }

    /// Executions begun and steps taken in the one that runs: unchanged means stuck (or idle).
    #[must_use]
    pub fn pulse(&self) -> (u64, u64) {
        (self.executions.load(Ordering::Relaxed), self.steps.load(Ordering::Relaxed))
    }

    /// Where the last step was taken.
    #[must_use]
    pub fn place(&self) -> Option<SourceLocation> {
        let place = self.place.load(Ordering::Relaxed);
        // SAFETY: `beat` stores nothing else.
        unsafe { Place::from_word(place) }.and_then(Place::location)
    }
}

/// Threads that cannot be unwound, over all executions of a program: each keeps its stack.
const MAX_LEFT_BEHIND: u32 = 16_000;

/// Epochs are process-wide, so that a handle in a static tells executions of different programs apart. A program takes so many
/// at once.
static NEXT_EPOCH: AtomicU32 = AtomicU32::new(1);
const EPOCHS: u32 = 256;

/// Epochs that no other program has.
#[cold]
fn take_epochs() -> Range<u32> {
    let first = NEXT_EPOCH.fetch_add(EPOCHS, Ordering::Relaxed);
    assert!(first != 0 && first < u32::MAX - EPOCHS, "more executions than one process can tell apart");
    first..first + EPOCHS
}

/// What executions have found out about which memory is shared.
#[derive(Clone, Debug, Default)]
pub struct Promoted {
    /// Places where accesses are scheduling points.
    places: std::collections::HashSet<usize>,
    stacks: shared_stacks::SharedStacks,
    /// Places where it matters who has called the function that they are in.
    watched: std::collections::HashSet<usize>,
    /// The times of writes of atomic variables matter.
    keeps_writes: bool,
}

/// A closure, run as thread 0 of each execution.
pub struct CoroutineProgram {
    main: Arc<dyn Fn() + Send + Sync>,
    running: Box<Running>,
    model: u32,
    /// For the next executions.
    epochs: Range<u32>,
}

impl std::fmt::Debug for CoroutineProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CoroutineProgram").finish_non_exhaustive()
    }
}

impl CoroutineProgram {
    /// A program that runs `main`.
    #[must_use]
    pub fn new(main: Arc<dyn Fn() + Send + Sync>, settings: Settings, tape: Tape) -> Self {
        panics::install();
        image::prepare();
        CODE.get_or_init(image::constants);
        coroutine::leave_at_faults(is_program_at_work);
        let execution = UnsafeCell::new(Execution::new(settings, tape));
        let mut running = Box::new(Running { execution, at_work: Cell::new(false), expected: Cell::new(0) });
        let at_work = &raw const running.at_work;
        running.execution.get_mut().quarantine.listen_to(at_work);
        CoroutineProgram { main, running, model: 0, epochs: 0..0 }
    }

    /// Signs of life of the executions.
    #[must_use]
    pub fn heartbeat(&self) -> Arc<Heartbeat> {
        self.running.with(|e| e.heartbeat.clone())
    }

    /// Number of the model within its test, for the tape's label.
    pub fn set_model(&mut self, model: u32) {
        self.model = model;
    }

    /// Which assignment of random numbers the executions get from now on.
    pub(crate) fn set_random_seed(&mut self, seed: u64) {
        self.running.with(|e| e.settings.random_seed = seed);
    }

    /// Whether loads may read stale values from now on.
    pub(crate) fn set_weak_memory(&mut self, weak_memory: bool) {
        self.running.with(|e| e.settings.weak_memory = weak_memory);
    }

    /// Whether weak memory made a difference in the last execution, or would have in another order of its steps.
    pub(crate) fn could_read_stale_values(&self) -> bool {
        self.running.with(|e| e.weak.makes_a_difference)
    }

    /// What the executions have found out about which memory is shared, to be handed to another program of the same
    /// process (a replay).
    #[must_use]
    pub fn promoted(&self) -> Promoted {
        self.running.with(|e| Promoted {
            places: e.promoted.clone(),
            stacks: e.shared_stacks.clone(),
            watched: e.memory_notes.watched.clone(),
            keeps_writes: e.mixed.keeps_writes,
        })
    }

    /// The places that have been made scheduling points, as another process of the same binary knows them, for [`Schedule::points`](crate::trace::Schedule::points).
    #[must_use]
    pub fn promoted_points(&self) -> Vec<u64> {
        self.running.with(|e| e.promoted_points())
    }

    /// Takes over promoted places from another process of the same binary.
    pub fn promote_points(&mut self, points: &[u64]) {
        self.running.with(|e| e.promote_points(points));
    }

    /// What the executions have found out, as another process of the same binary can read it.
    #[must_use]
    pub fn promoted_text(&self) -> String {
        let line = |mut numbers: Vec<u64>| {
            numbers.sort_unstable();
            numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
        };
        self.running.with(|e| {
            let points = e.promoted.iter().map(|&place| image::relative(place) as u64);
            let points = points.chain(e.shared_stacks.to_points());
            let watched = e.memory_notes.watched.iter().map(|&place| image::relative(place) as u64);
            let writes = u8::from(e.mixed.keeps_writes);
            format!("{}\n{}\n{writes}\n", line(points.collect()), line(watched.collect()))
        })
    }

    /// Takes over what another process of the same binary has found out; what is no such text is passed over.
    pub fn take_over_text(&mut self, text: &str) {
        let mut lines = text.lines();
        let mut numbers = || -> Vec<u64> {
            lines.next().unwrap_or("").split(' ').filter_map(|word| word.parse().ok()).collect()
        };
        let (points, watched, writes) = (numbers(), numbers(), numbers());
        self.promote_points(&points);
        let watched = watched.into_iter().map(|place| image::absolute(place as usize));
        self.running.with(|e| {
            e.memory_notes.watched.extend(watched);
            e.mixed.keeps_writes |= writes == [1];
        });
    }

    /// Takes over what another program has found out.
    pub fn set_promoted(&mut self, promoted: Promoted) {
        self.running.with(|e| {
            (e.promoted, e.shared_stacks) = (promoted.places, promoted.stacks);
            e.memory_notes.watched = promoted.watched;
            e.mixed.keeps_writes = promoted.keeps_writes;
        });
    }

    /// Stacks are not to be had without end.
    fn check_stacks(&self) {
        if self.running.with(|e| e.left_behind) >= MAX_LEFT_BEHIND {
            let message = format!(
                "the test leaves the model: when it ends, threads wait in functions of C (futexes of their own, event loops), or \
                 abort or never end when they are unwound, and {MAX_LEFT_BEHIND} of their stacks are in use by now; join them, or lower the \
                 bound"
            );
            self.running.with(|e| e.fail(Failure::new(FailureKind::Blocked, message)));
        }
    }

    fn start(&self, epoch: u32, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) {
        // SAFETY: the closure is there as long as the program is, which outlives the execution; it is not moved.
        let main = unsafe { ThreadMain::new(NonNull::from(&self.main).cast(), &MAIN) };
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
        self.check_stacks();
    }

    /// Resumes whoever is chosen until the execution has ended.
    fn drive(&self) {
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
    fn clean_up(&self) {
        let unwind = self.running.with(|e| match &e.end {
            Some(End::Failed(_)) => e.settings.unwind_failed,
            _ => true,
        });
        let count = self.running.with(|e| {
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
            self.running.with(|e| {
                e.left_behind += u32::from(unwind || is_left);
                e.left_panicking |= life == Life::Live && e.threads[thread].unwinding;
            });
        }
    }

    /// Puts the statics back, in the order opposite to that in which they were first used.
    fn restore_statics(&self) {
        if self.running.with(|e| e.at_end.is_empty() && e.statics.is_empty()) {
            return;
        }
        let (at_end, statics) =
            self.running.with(|e| (std::mem::take(&mut e.at_end), std::mem::take(&mut e.statics)));
        for action in at_end.into_iter().rev() {
            action();
        }
        statics.put_back();
    }

    fn finish(&self) -> Outcome {
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
    fn chosen(&mut self) -> Option<Resumption<ThreadMain>> {
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

    /// The running thread can never run again.
    #[cold]
    fn report_trap(&mut self) {
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
    fn fail_by_overflow(&mut self) {
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
    fn is_beyond_stack(&mut self) -> bool {
        let here = 0_u8;
        let here = (&raw const here).addr();
        self.settings.stack_reserve != 0
            && coroutine::running_stack().is_some_and(|stack| {
                stack.contains(&here) && here < stack.start + self.settings.stack_reserve
            })
    }

    /// Whether a thread has ended and its coroutine can stay with its slot.
    #[inline]
    fn is_over(&self, thread: usize) -> bool {
        let Thread { life, coroutine, .. } = &self.threads[thread];
        *life == Life::Ended && coroutine.as_ref().is_some_and(|coroutine| self.pool.is_ordinary(coroutine))
    }
}

impl CoroutineProgram {
    /// Runs the program once; `histories`: in a replay, or to find out more about what it has shown.
    fn run_once(
        &mut self,
        chooser: &mut dyn Chooser,
        observer: Option<&mut dyn Observer>,
        histories: bool,
    ) -> Outcome {
        panics::refuse_inside_a_model();
        if !self.running.with(|e| e.settings.sequential) {
            left_panics::prepare();
        }
        if self.running.with(|e| e.settings.detached) {
            time_stamps::prepare();
        }
        if self.epochs.is_empty() {
            self.epochs = take_epochs();
        }
        let epoch = self.epochs.start;
        self.epochs.start += 1;
        let quarantine = self.running.with(|e| {
            e.open_ledger(histories);
            e.quarantine.passes = e.settings.sequential;
            &raw mut *e.quarantine
        });
        let (fixed, seed) = self.running.with(|e| (e.settings.fixed_hashing, e.settings.random_seed));
        if fixed {
            hashing::fixed(seed, || self.run_in(epoch, quarantine, chooser, observer));
        } else {
            self.run_in(epoch, quarantine, chooser, observer);
        }
        self.finish()
    }

    fn run_in(
        &self,
        epoch: u32,
        quarantine: *mut Quarantine,
        chooser: &mut dyn Chooser,
        observer: Option<&mut dyn Observer>,
    ) {
        Quarantine::during(quarantine, || {
            self.running.during(|| {
                self.start(epoch, chooser, observer);
                accesses::attend(&self.running);
                self.drive();
                accesses::look_away();
                self.running.with(|e| {
                    panics::report_unhandled(e);
                    e.note_freed();
                    // It would itself leave behind what points to the blocks.
                    allocator::aside(|| e.ledger.look_from_statics());
                });
                self.clean_up();
            });
            self.restore_statics();
        });
    }
}

impl CoroutineProgram {
    /// The execution has shown which accesses have to be looked at more closely (those to a part of a stack that is shared,
    /// those of functions that the mirrored library calls as well): it is run again with that in mind.
    #[cold]
    fn look_again(&mut self, outcome: &mut Outcome, replays: bool) {
        if outcome.promoted {
            return;
        }
        if self.running.with(|e| !e.promoted.is_empty()) {
            // Where accesses are steps there may be more of them from now on: what was chosen was chosen without them.
            outcome.promoted = true;
            return;
        }
        if matches!(outcome.end, End::Failed(_)) {
            return;
        }
        if replays {
            // Whoever watches watches the next one.
            outcome.promoted = true;
            return;
        }
        let schedule = self.running.with(|e| e.tape.schedule());
        while matches!(outcome.end, End::Passed) && self.running.with(|e| e.has_news_of_memory()) {
            let again = self.run_once(&mut leaks::Again::new(&schedule), None, false);
            outcome.promoted = again.promoted;
            // Whatever else it does differently it does by itself; the check of determinism is to see that.
            let of_memory =
                |failure: &Failure| matches!(failure.kind, FailureKind::DataRace | FailureKind::UseAfterFree);
            if matches!(&again.end, End::Failed(failure) if of_memory(failure)) || again.promoted {
                outcome.end = again.end;
            }
        }
    }
}

impl Program for CoroutineProgram {
    /// # Panics
    /// If it is called inside another execution.
    fn run(&mut self, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) -> Outcome {
        let replays = observer.as_ref().is_some_and(|observer| observer.wants_backtraces());
        let checks_leaks = self.running.with(|e| e.settings.check_leaks);
        if checks_leaks {
            self.running.with(|e| e.ledger.forget());
        }
        let mut outcome = self.run_once(chooser, observer, replays);
        if self.running.with(|e| e.has_news_of_memory()) {
            self.look_again(&mut outcome, replays);
        }
        if checks_leaks
            && matches!(outcome.end, End::Passed)
            && let Some(failure) = self.find_leaks(replays)
        {
            outcome.end = End::Failed(Box::new(failure));
        }
        outcome
    }

    fn label(&mut self, bound: u32, execution: u64) {
        self.running.with(|e| e.tape.label(self.model, bound, execution));
    }
}

/// Where the program's own code lies; looked up beforehand, since a signal handler asks.
static CODE: OnceLock<(usize, usize)> = OnceLock::new();

/// Whether it is the program under test that comes to this instruction, and it holds nothing of the system's: only then can it be left there.
fn is_program_at_work(instruction: usize) -> bool {
    let code = CODE.get().is_some_and(|&(start, end)| (start..end).contains(&instruction));
    code && !allocator::engine_works()
}

/// The test closure, as what thread 0 does. The closure is the program's.
static MAIN: ThreadBody = ThreadBody { run: run_main, discard: |_| () };

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
fn end(running: &Running, panicked: bool) {
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

fn execution_is_unwinding(e: &mut Execution) -> bool {
    let thread = &mut e.threads[e.current];
    if thread.unwinding && !std::thread::panicking() {
        // The program has caught its panic.
        thread.unwinding = false;
    }
    thread.unwinding
}
