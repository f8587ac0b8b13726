//! What a replay has shown.

use crate::observe::Recorder;
use crate::program::{End, OUTSIDE_THE_MODEL, Program};
use crate::search::Replay;
use crate::trace::{Failure, FailureKind, Schedule};

/// A replayed execution: how it ended, with its trace.
#[derive(Debug)]
pub(super) struct Replayed {
    /// The failure; if it passed, something that carries its trace.
    pub(super) failure: Failure,
    pub(super) passed: bool,
}

impl Replayed {
    /// Joins how the execution ended with what was recorded.
    pub(super) fn new(end: End, chooser: &Replay, recorder: Recorder<'_>, schedule: &Schedule) -> Self {
        let trace = recorder.into_trace();
        let ends_early = chooser.unfinished(trace.step_count());
        let (mut failure, passed) = match (end, chooser.message()) {
            (_, Some(message)) => (Failure::new(FailureKind::Divergence, message), false),
            (End::Failed(failure), None) => (*failure, false),
            (End::Passed | End::GivenUp, None) if let Some(message) = ends_early => {
                (Failure::new(FailureKind::Divergence, message), false)
            }
            (End::Passed | End::GivenUp, None) => {
                (Failure::new(FailureKind::Panic, "the schedule ends without a failure"), true)
            }
        };
        if failure.schedule.entries().is_empty() || failure.kind == FailureKind::Divergence {
            failure.schedule = schedule.clone();
        }
        failure.bound = failure.schedule.preemption_count();
        failure.take_over(trace);
        Replayed { failure, passed }
    }
}

/// Replays a failure in the same process, to fill in its trace. A replay that does not fail in the same way is a
/// divergence.
pub(super) fn explain<P: Program>(failure: &mut Failure, program: impl FnOnce() -> P) {
    if failure.kind == FailureKind::Divergence || failure.kind == FailureKind::StackOverflow {
        return;
    }
    let mut chooser = Replay::new(&failure.schedule);
    let mut recorder = Recorder::new();
    let outcome = program().run(&mut chooser, Some(&mut recorder));
    let replayed = Replayed::new(outcome.end, &chooser, recorder, &failure.schedule);
    let execution = failure.execution;
    let kind = replayed.failure.kind;
    if !replayed.passed && (kind == failure.kind || kind == FailureKind::Divergence) {
        *failure = replayed.failure;
    } else {
        let message = format!(
            "the failure ({failure}) did not come back when its schedule was replayed: the test depends on \
             {OUTSIDE_THE_MODEL}"
        );
        *failure = Failure { kind: FailureKind::Divergence, message, ..replayed.failure };
    }
    failure.execution = execution;
}
