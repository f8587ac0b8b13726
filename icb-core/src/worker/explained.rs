//! What a replay goes on to find out once its failure has been told: a simpler one, and which orders it takes. If the
//! process dies of it, the failure has been told all the same.

use super::process::{Closure, Worker};
use super::replayed::Replayed;
use super::watchdog::Watchdog;
use crate::explain::{orders, simplify};
use crate::observe::Recorder;
use crate::recording::Tape;
use crate::runtime::{self, CoroutineProgram, Promoted};
use crate::search::Replay;
use crate::trace::{Failure, FailureKind, Message, Schedule};
use std::time::Instant;

impl Worker {
    /// Explains a failure that has just been replayed, and tells.
    pub(super) fn explain(&self, f: &Closure, failure: Failure, promoted: &Promoted) {
        let explains = !self.settings.explain.is_zero() || !self.settings.simplify.is_zero();
        let lasting = matches!(failure.kind, FailureKind::Divergence | FailureKind::StackOverflow);
        // Executions after the first of the process are other ones.
        let is_last = self.settings.isolated;
        if !self.channel.is_open() || !explains || lasting || is_last {
            return;
        }
        let mut program = self.bare_program(f, promoted, true);
        let _watchdog =
            Watchdog::start(program.heartbeat(), self.settings.watchdog, self.channel.clone(), self.model);
        let mut failure = failure;
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
        self.channel.send(&Message::Explained { model: self.model, failure: Box::new(failure) });
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
