//! A closure as a program of coroutines: one execution at a time, under a chooser.

use super::allocator::Quarantine;
use super::execution::{Execution, Settings};
use super::heartbeat::Heartbeat;
use super::running::Running;
use super::{
    accesses, allocator, faults, hashing, image, leaks, left_panics, panics, program_allocator, time_stamps,
};
use crate::program::{Chooser, End, Observer, Outcome, Program};
use crate::recording::Tape;
use crate::trace::{Failure, FailureKind};
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// A closure, run as thread 0 of each execution.
pub struct CoroutineProgram {
    pub(super) main: Arc<dyn Fn() + Send + Sync>,
    pub(super) running: Box<Running>,
    pub(super) model: u32,
    /// What is found out of memory is for others: each execution has a process of its own.
    isolated: bool,
    /// For the next executions.
    epochs: Range<u32>,
    _hook: panics::Installed,
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
        let hook = panics::install();
        image::prepare();
        faults::prepare();
        program_allocator::learn();
        let execution = UnsafeCell::new(Execution::new(settings, tape));
        let mut running = Box::new(Running { execution, at_work: Cell::new(false), expected: Cell::new(0) });
        let at_work = &raw const running.at_work;
        running.execution.get_mut().quarantine.listen_to(at_work);
        CoroutineProgram { main, running, model: 0, isolated: false, epochs: 0..0, _hook: hook }
    }

    /// Whether there was an execution in which one of several threads has read the clock, and time has passed.
    #[must_use]
    pub fn clock_matters(&self) -> bool {
        self.running.with(|e| e.clock_matters())
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

    /// Each execution is the only one of its process: where it finds out something about memory, it is not run again here.
    pub(crate) fn set_isolated(&mut self) {
        self.isolated = true;
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

    /// Runs the program once; `histories`: in a replay, or to find out more about what it has shown.
    pub(super) fn run_once(
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
            e.instruct_allocator(histories);
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
        if replays || self.isolated {
            // Whoever watches watches the next one; and a process runs one.
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
