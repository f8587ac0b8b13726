//! Exploring a model, one execution after another, as the settings say.

use super::builder::ReductionKind;
use super::replayed::{Replayed, explain};
use super::settings::Settings;
use super::strategies::{leave_bounds_out, limits, search_those_left_out, strategy, with_bounds_before};
use crate::explore::{Explorer, Options};
use crate::model::{Model, ModelProgram};
use crate::observe::Recorder;
use crate::program::Program;
use crate::search::Replay;
use crate::trace::{Report, Schedule};

/// Explores, or replays what the settings say; the trace of a failure is filled in.
pub(super) fn explore<M: Model>(settings: &Settings, model: &M) -> Report {
    let options = Options {
        limits: limits(settings),
        stop_at_failure: !settings.keep_going,
        count_states: true,
        measured_executions: settings.measured_executions,
        check_determinism: !settings.keep_going,
    };
    let program = || ModelProgram::new(model).max_steps(settings.max_steps);
    if let Some(schedule) = &settings.replay {
        return replay(schedule, program());
    }
    let mut settings = settings.clone();
    if settings.reduction == ReductionKind::PartialOrder && model.initial_states().len() > 1 {
        // The default reduction knows outcomes of steps only, and where an execution begins is none.
        settings.reduction = ReductionKind::Visited;
    }
    let search = |settings: &Settings| Explorer::new(options).run(&mut *strategy(settings), &mut program());
    let least = leave_bounds_out(&mut settings);
    let mut report = search(&settings);
    if let Some(least) = least
        && search_those_left_out(&mut settings, least, &report)
    {
        let again = search(&settings);
        if again.failure.is_some() {
            report = with_bounds_before(again, report, least);
        }
    }
    if let Some(failure) = &mut report.failure {
        explain(failure, program);
    }
    report
}

/// Runs one execution.
fn replay(schedule: &Schedule, mut program: impl Program) -> Report {
    let mut chooser = Replay::new(schedule);
    let mut recorder = Recorder::new();
    let outcome = program.run(&mut chooser, Some(&mut recorder));
    let replayed = Replayed::new(outcome.end, &chooser, recorder, schedule);
    let failure = (!replayed.passed).then_some(replayed.failure);
    Report { failure, ..Report::default() }
}
