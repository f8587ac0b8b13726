//! Executions in processes of their own: each is the first of its process, a fork of one that runs none. So nothing that an execution leaves behind
//! (memory that is never freed, what a `static` of C or of the real `std` holds) is there in the next one.

use super::fork::{Facts, in_a_fork, in_a_fork_to_bytes};
use crate::observe::{Recorder, Signature, SignaturePiece};
use crate::program::{Chooser, End, Observer, Outcome, Program};
use crate::runtime::{CoroutineProgram, files_are_made};
use crate::search::Replay;
use crate::symbols;
use crate::trace::{Failure, FailureKind, Schedule, Trace};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the search, and those who do its items elsewhere, know in common.
#[derive(Default)]
pub(super) struct Knowledge {
    /// What the next execution of the search has found out about which memory is shared, where it was run elsewhere and has to be run again.
    next: Cell<Option<String>>,
    /// What has been learned of memory.
    learned: RefCell<String>,
    /// Those who do items do not know it.
    is_news: Cell<bool>,
    /// What executions tell of the program.
    facts: Option<Facts>,
    /// Where what has been learned is kept for whoever goes on with the search, and the key of what it belongs to.
    kept: Option<(PathBuf, u64)>,
}

/// The program makes or locks files.
const FILES: u32 = 1;
/// It reads the clock while time passes.
const CLOCK: u32 = 2;
/// Functions are looked up while it runs.
const LOOKS_UP: u32 = 4;

impl Knowledge {
    /// The next execution of the search finds this out.
    #[cfg(unix)]
    pub(super) fn expect(&self, learned: Option<String>) {
        self.next.set(learned);
    }

    /// The search begins anew with its next execution, although there is nothing to learn.
    #[cfg(unix)]
    pub(super) fn begin_anew(&self) {
        self.next.set(Some(self.learned.borrow().clone()));
    }

    /// Whether something has been learned since this was last asked.
    #[cfg(unix)]
    pub(super) fn take_news(&self) -> bool {
        self.is_news.take()
    }

    /// What a program knows that has run nothing; and room for what executions tell.
    pub(super) fn of(program: &CoroutineProgram) -> Self {
        Knowledge {
            learned: RefCell::new(program.promoted_text()),
            facts: Facts::new(),
            ..Knowledge::default()
        }
    }

    /// Keeps what is learned in this file, and hands the program what is there: a search that is gone on with knows what it knew.
    pub(super) fn keep_in(&mut self, path: PathBuf, key: u64, program: &mut CoroutineProgram) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(learned) = text.strip_prefix(&format!("{key}\n")) {
            program.take_over_text(learned);
            self.learned = RefCell::new(program.promoted_text());
        }
        self.kept = Some((path, key));
    }

    /// Whether in some execution the clock was read while time passed.
    pub(super) fn clock_matters(&self) -> bool {
        self.told() & CLOCK != 0
    }

    /// Whether some execution has made or locked files.
    #[cfg(unix)]
    pub(super) fn files_are_made(&self) -> bool {
        self.told() & FILES != 0
    }

    fn told(&self) -> u32 {
        self.facts.as_ref().map_or(0, Facts::told)
    }

    /// An execution has been run.
    pub(super) fn tell_of(&self, program: &CoroutineProgram) {
        let files = if files_are_made() { FILES } else { 0 };
        let clock = if program.clock_matters() { CLOCK } else { 0 };
        let looks_up = if symbols::is_ready() { LOOKS_UP } else { 0 };
        if let Some(facts) = &self.facts {
            facts.tell(files | clock | looks_up);
        }
    }

    /// A fork is about to be made for an execution.
    pub(super) fn prepare(&self) {
        if self.told() & LOOKS_UP != 0 {
            symbols::make_ready();
        }
    }

    /// Hands what has been learned to a program.
    #[cfg(unix)]
    pub(super) fn teach(&self, program: &mut CoroutineProgram) {
        program.take_over_text(&self.learned.borrow());
    }

    fn learn(&self, text: &str, program: &mut CoroutineProgram) {
        program.take_over_text(text);
        // With what had been learned before.
        *self.learned.borrow_mut() = program.promoted_text();
        self.is_news.set(true);
        if let Some((path, key)) = &self.kept {
            // Without it, it is learned again, and the search begins anew.
            let new = path.with_extension("new");
            let _ = std::fs::write(&new, format!("{key}\n{}", self.learned.borrow()))
                .and_then(|()| std::fs::rename(&new, path));
        }
    }
}

/// A program of whose executions this process runs at most one, the last: what the others come to is found out in forks. Where a fork dies of its
/// execution, that is run here, and it is seen how.
pub(super) struct Isolated<'a> {
    program: &'a mut CoroutineProgram,
    knowledge: Rc<Knowledge>,
    patience: Duration,
    /// Set while a fork is at work, and nothing runs here.
    resting: Arc<AtomicBool>,
    /// Whether the execution that is run here is recorded.
    records: bool,
    /// Its trace.
    trace: Option<Trace>,
}

/// A piece of what a fork tells of the default execution.
#[derive(Clone, Copy)]
enum Told {
    Signature(SignaturePiece),
    Failed(FailureKind),
    /// Of the failure's message, or of what was learned.
    Byte(u8),
    Learned,
}

impl<'a> Isolated<'a> {
    /// This program. `resting` is set while something is found out in a fork.
    pub(super) fn new(
        program: &'a mut CoroutineProgram,
        knowledge: Rc<Knowledge>,
        patience: Duration,
        resting: Arc<AtomicBool>,
    ) -> Self {
        Isolated { program, knowledge, patience, resting, records: false, trace: None }
    }

    /// Records the execution that is run here.
    pub(super) fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// The trace of the execution that was run here, if it was recorded.
    pub(super) fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take()
    }

    /// Whether something holds of it, or may hold, as far as is found out in a fork.
    pub(super) fn whether(&mut self, holds: impl FnOnce(&mut CoroutineProgram) -> bool) -> bool {
        self.knowledge.prepare();
        let work = || vec![u8::from(holds(self.program))];
        let told = while_resting(&self.resting, || in_a_fork_to_bytes(self.patience, work));
        told.map_or(true, |told| told == [1])
    }

    /// Finds out what an execution with this schedule learns of memory, so that it learns nothing when it is run here.
    pub(super) fn rehearse(&mut self, schedule: &Schedule) {
        // It will be recorded with its backtraces.
        symbols::make_ready();
        loop {
            let work = || {
                let outcome = self.program.run(&mut Replay::new(schedule), Some(&mut Recorder::new()));
                let learned = outcome.promoted.then(|| self.program.promoted_text());
                learned.unwrap_or_default().into_bytes()
            };
            let text = while_resting(&self.resting, || in_a_fork_to_bytes(self.patience, work));
            match text.ok().and_then(|text| String::from_utf8(text).ok()).filter(|text| !text.is_empty()) {
                Some(text) => self.knowledge.learn(&text, self.program),
                None => return,
            }
        }
    }

    /// The outcome of an execution that was run here: the last, whatever it came to, since what it leaves is there from now on.
    fn last(&self, outcome: Outcome) -> Outcome {
        if matches!(outcome.end, End::Failed(_)) {
            return outcome;
        }
        let message = format!(
            "an execution passes here that has died in a process of its own, or was not over there after {:.0} s, or there was no process for it: \
             give more time with ICB_WATCHDOG_SECONDS, or more memory, or do without isolated executions",
            self.patience.as_secs_f64()
        );
        let failure = Failure::new(FailureKind::Divergence, message);
        Outcome { end: End::Failed(Box::new(failure)), promoted: false, ..outcome }
    }

    /// The execution of the default choices, and how it ends.
    pub(super) fn default_execution(&mut self) -> (Signature, Outcome) {
        loop {
            match self.elsewhere() {
                Some((_, outcome)) if outcome.promoted => {}
                Some(told) => return told,
                None => {
                    let (signature, outcome) = Signature::of_default(self.program);
                    return (signature, self.last(outcome));
                }
            }
        }
    }

    /// The default execution, in a fork.
    fn elsewhere(&mut self) -> Option<(Signature, Outcome)> {
        let (program, knowledge) = (&mut *self.program, &self.knowledge);
        knowledge.prepare();
        let work = || {
            let (signature, outcome) = Signature::of_default(program);
            let mut told: Vec<Told> = signature.pieces().map(Told::Signature).collect();
            knowledge.tell_of(program);
            let text = match outcome.end {
                _ if outcome.promoted => {
                    told.push(Told::Learned);
                    program.promoted_text()
                }
                End::Failed(failure) => {
                    told.push(Told::Failed(failure.kind));
                    failure.message
                }
                End::Passed | End::GivenUp => String::new(),
            };
            told.extend(text.bytes().map(Told::Byte));
            told
        };
        // SAFETY: pieces of signatures lead to the image only, the others nowhere.
        let told = while_resting(&self.resting, || unsafe { in_a_fork(self.patience, work) }).ok()?;
        let (mut signature, mut text, mut failed) = (Signature::new(), Vec::new(), None);
        let mut outcome = unseen(End::Passed);
        for piece in told {
            match piece {
                Told::Signature(piece) => signature.add(piece),
                Told::Failed(kind) => failed = Some(kind),
                Told::Learned => outcome.promoted = true,
                Told::Byte(byte) => text.push(byte),
            }
        }
        let text = String::from_utf8(text).unwrap_or_default();
        if outcome.promoted {
            self.knowledge.learn(&text, self.program);
        } else if let Some(kind) = failed {
            outcome.end = End::Failed(Box::new(Failure::new(kind, text)));
        }
        Some((signature, outcome))
    }
}

/// The outcome of an execution that was run elsewhere, of which nobody asks for figures.
const fn unseen(end: End) -> Outcome {
    Outcome { end, step_count: 0, thread_count: 0, fingerprint: 0, promoted: false }
}

/// Waits for a fork: nothing runs here meanwhile.
fn while_resting<T>(resting: &AtomicBool, wait: impl FnOnce() -> T) -> T {
    resting.store(true, Ordering::Relaxed);
    let told = wait();
    resting.store(false, Ordering::Relaxed);
    told
}

impl Program for Isolated<'_> {
    fn run(&mut self, chooser: &mut dyn Chooser, _: Option<&mut dyn Observer>) -> Outcome {
        if let Some(text) = self.knowledge.next.take() {
            self.knowledge.learn(&text, self.program);
            return Outcome { promoted: true, ..unseen(End::GivenUp) };
        }
        if !self.records {
            let outcome = self.program.run(chooser, None);
            return self.last(outcome);
        }
        let mut recorder = Recorder::new();
        let outcome = self.program.run(chooser, Some(&mut recorder));
        self.trace = Some(recorder.into_trace());
        self.last(outcome)
    }

    fn label(&mut self, bound: u32, execution: u64) {
        self.program.label(bound, execution);
    }
}
