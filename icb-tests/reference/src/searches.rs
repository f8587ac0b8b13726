//! Searches as tests run them through the engine's parts: how the reduction is set, that nothing is left out, and what the
//! program is run by. Knows nothing of what is searched.

use icb_core::explore::{Limits, Options};
use icb_core::recording::Tape;
use icb_core::reduction::PartialOrder;
use icb_core::runtime::{CoroutineProgram, Settings};
use icb_core::trace::Report;
use std::sync::Arc;

/// The default reduction: all executions with at most so many preemptions, and no bound below searched first; `None`: all executions.
#[must_use]
pub fn reduced(bound: Option<u32>) -> PartialOrder {
    match bound {
        Some(bound) => PartialOrder::new(Some(bound)).from_bound(bound),
        None => PartialOrder::new(None).unbounded_at_once(),
    }
}

/// Every execution of the search, those after a failure too, each once; `max_executions` of them at most.
#[must_use]
pub fn every_execution(max_executions: Option<u64>) -> Options {
    Options {
        limits: Limits { max_executions, max_duration: None },
        stop_at_failure: false,
        check_determinism: false,
        ..Options::default()
    }
}

/// Executions of all bounds, those given up half-way too.
#[must_use]
pub fn run_count(report: &Report) -> u64 {
    report.bounds.iter().map(|bound| bound.executions + bound.given_up).sum()
}

/// A program of real threads, with a tape that is long enough for its longest execution.
#[must_use]
pub fn coroutines(body: impl Fn() + Send + Sync + 'static, settings: Settings) -> CoroutineProgram {
    let tape = Tape::new(4 * settings.max_steps as usize);
    CoroutineProgram::new(Arc::new(body), settings, tape)
}

/// A program of real threads with the settings that a user has, but for spurious wake-ups: there are none.
#[must_use]
pub fn without_spurious(body: impl Fn() + Send + Sync + 'static) -> CoroutineProgram {
    coroutines(body, Settings { spurious: false, ..Settings::default() })
}
