//! What a replay goes on to find out once its failure has been told: a simpler one, and which orders it takes. If a
//! process dies of it, that is a fork of this one, and another one finds out what can be.

use super::fork::{Asked, Untold, in_a_fork_to_bytes};
use super::process::{Closure, Worker};
use super::replayed::Replayed;
use super::watchdog::Watchdog;
use crate::explain::{self, Came, Case, Piece, Trial, Trials, orders, simplify};
use crate::observe::Recorder;
use crate::recording::Tape;
use crate::runtime::{self, CoroutineProgram, Promoted};
use crate::search::Replay;
use crate::trace::{Failure, FailureKind, Message, Schedule};
use std::time::{Duration, Instant};

impl Worker {
    /// A fork of this process that finds out which orders a failure takes by executions that have processes of their own: to be made before there is
    /// one here. `None`: nobody wants to know, or it could not be made.
    pub(super) fn who_explains(&self, f: &Closure, promoted: &Promoted) -> Option<Asked<Piece>> {
        if !self.channel.is_open() || self.settings.explain.is_zero() {
            return None;
        }
        let answer = |pieces: &[Piece]| {
            let mut program = self.bare_program(f, promoted, false);
            program.set_isolated();
            let mut trials = InForks { program, patience: self.fork_patience() };
            let until = Instant::now() + self.settings.explain;
            let explanation = Case::from_pieces(pieces).and_then(|case| case.orders(&mut trials, until));
            explanation.as_ref().map(explain::to_bytes).unwrap_or_default()
        };
        // SAFETY: pieces lead nowhere.
        unsafe { Asked::new(answer) }
    }

    /// Explains a failure that has just been replayed, and tells. `elsewhere`: who does so, if executions are to have processes of their own, or one of
    /// them ends its process.
    pub(super) fn explain(
        &self,
        f: &Closure,
        mut failure: Failure,
        promoted: &Promoted,
        elsewhere: Option<Asked<Piece>>,
    ) {
        let explains = !self.settings.explain.is_zero() || !self.settings.simplify.is_zero();
        let lasting = matches!(failure.kind, FailureKind::Divergence | FailureKind::StackOverflow);
        if !self.channel.is_open() || !explains || lasting {
            return;
        }
        if !self.settings.isolated {
            if elsewhere.is_none() {
                return self.tell_explained(self.explain_here(f, failure, promoted));
            }
            // In a fork, as an execution may end its process.
            let explain = || {
                self.tell_explained(self.explain_here(f, failure.clone(), promoted));
                vec![EXPLAINED]
            };
            let patience = self.patience_for(self.settings.explain + self.settings.simplify);
            if in_a_fork_to_bytes(patience, explain).is_ok() {
                return;
            }
        }
        if let (Some(case), Some(elsewhere)) = (Case::new(&failure), elsewhere) {
            let told = elsewhere.ask(&case.to_pieces(), self.patience_for(self.settings.explain));
            let explanation = told.and_then(|told| explain::from_bytes(&told));
            failure.trace.explanation = explanation.map(Box::new);
        }
        self.tell_explained(failure);
    }

    pub(super) fn tell_explained(&self, failure: Failure) {
        self.channel.send(&Message::Explained { model: self.model, failure: Box::new(failure) });
    }

    /// How long a fork may take that runs executions for so long.
    fn patience_for(&self, time: Duration) -> Duration {
        let one = self.fork_patience();
        if one.is_zero() { one } else { one + time }
    }

    /// The failure, or a simpler one, with its explanation.
    fn explain_here(&self, f: &Closure, mut failure: Failure, promoted: &Promoted) -> Failure {
        let mut program = self.bare_program(f, promoted, true);
        // The failure has been told. If nothing more comes of it, that is all.
        let _watchdog = Watchdog::start_for(program.heartbeat(), self.settings.watchdog, |_| ());
        let mut simplified = None;
        if !self.settings.simplify.is_zero() {
            let (simpler, summary) =
                simplify(&mut program, &failure, Instant::now() + self.settings.simplify);
            simplified = Some(summary);
            let replayed = simpler.and_then(|simpler| self.trace_of(f, &simpler.schedule, promoted));
            if let Some(replayed) = replayed.filter(|replayed| replayed.kind == failure.kind) {
                failure = Failure { execution: failure.execution, ..replayed };
            }
        }
        let mut explanation = None;
        if !self.settings.explain.is_zero() {
            explanation = orders(&mut program, &failure, Instant::now() + self.settings.explain);
        }
        if let Some(summary) = simplified {
            explanation.get_or_insert_default().simplified = Some(summary);
        }
        failure.trace.explanation = explanation.map(Box::new);
        failure
    }

    /// A program beside the one that is replayed; its recording is not for others to read.
    fn bare_program(&self, f: &Closure, promoted: &Promoted, unwind: bool) -> CoroutineProgram {
        let settings = runtime::Settings { unwind_failed: unwind, ..self.runtime_settings() };
        let capacity = (self.settings.max_steps as usize).saturating_mul(2).clamp(1024, 1 << 20);
        let mut program = CoroutineProgram::new(f.clone(), settings, Tape::new(capacity));
        program.set_promoted(promoted.clone());
        program
    }

    /// The failure that a schedule leads to, with its trace.
    fn trace_of(&self, f: &Closure, schedule: &Schedule, promoted: &Promoted) -> Option<Failure> {
        let mut program = self.bare_program(f, promoted, false);
        let mut chooser = Replay::new(schedule);
        let mut recorder = Recorder::new();
        let outcome = self.record(&mut program, &mut chooser, &mut recorder);
        let replayed = Replayed::new(outcome.end, &chooser, recorder, schedule);
        (!replayed.passed).then_some(replayed.failure)
    }
}

/// Runs each trial in a fork of this process, which itself runs nothing.
struct InForks {
    program: CoroutineProgram,
    patience: Duration,
}

/// What a fork tells that has told the explanation itself.
const EXPLAINED: u8 = 0;

/// What a fork tells if it has found out what memory is shared, which follows.
const LEARNS: u8 = u8::MAX;

impl Trials for InForks {
    fn run(&mut self, trial: &Trial<'_>) -> Came {
        loop {
            let program = &mut self.program;
            let work = || match trial.run(program) {
                Came::Learns => [&[LEARNS], program.promoted_text().as_bytes()].concat(),
                came => came.to_bytes(),
            };
            let told = match in_a_fork_to_bytes(self.patience, work) {
                Ok(told) => told,
                // It has not failed like the failure, whatever it is that it did.
                Err(Untold::Died) => return Came::Passes(Schedule::default()),
                Err(_) => return Came::SaysNothing,
            };
            match told.strip_prefix(&[LEARNS]).map(std::str::from_utf8) {
                None => return Came::from_bytes(&told).unwrap_or(Came::SaysNothing),
                Some(Ok(text)) => program.take_over_text(text),
                Some(Err(_)) => return Came::SaysNothing,
            }
        }
    }
}
