//! Exploring a model, one execution after another, as the settings say.

use super::replayed::explain;
use super::settings::Settings;
use super::strategies::{limits, strategy};
use crate::explore::{Explorer, Options};
use crate::model::{Model, ModelProgram};
use crate::trace::Report;

/// Explores; the trace of a failure is filled in.
pub(super) fn explore<M: Model>(settings: &Settings, model: &M) -> Report {
    let options = Options {
        limits: limits(settings),
        stop_at_failure: !settings.keep_going,
        count_states: true,
        measured_executions: settings.measured_executions,
        check_determinism: !settings.keep_going,
    };
    let program = || ModelProgram::new(model).max_steps(settings.max_steps);
    let mut report = Explorer::new(options).run(&mut *strategy(settings), &mut program());
    if let Some(failure) = &mut report.failure {
        explain(failure, program);
    }
    report
}
