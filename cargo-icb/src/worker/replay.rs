//! Runs one schedule again, with backtraces on. If the process dies of it, another one finds out what that takes.

use super::flight;
use super::process::{self, DEFAULT_WATCHDOG, End, Launch, Outcome};
use super::verdict::{Verdict, judge, tell_expected};
use crate::cargo::tests::Test;
use crate::settings::Search;
use icb_core::trace::{Death, EXPLAIN_SECONDS, Failure, FailureKind, PRINTED, Schedule, Trace};
use std::path::PathBuf;

/// So much is kept of what a replay prints, in bytes: the end.
const MAX_PRINTED: usize = 64 * 1024;

/// What a replay has shown.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Replayed {
    /// The schedule fails; the failure has its trace.
    Fails(Box<Failure>),
    /// The schedule runs to its end and nothing fails; the trace is that of the passing execution.
    Passes(Box<Failure>),
    /// The test does not follow the schedule.
    Diverges(Box<Failure>),
    /// The test process would not run with these settings.
    Refused(String),
    /// The replay could not be run.
    Broken(String),
}

/// Which schedule of which test.
pub(crate) struct Replay<'a> {
    /// The test.
    pub(crate) test: &'a Test<'a>,
    /// Which call of `model`.
    pub(crate) model: u32,
    /// The schedule.
    pub(crate) schedule: &'a Schedule,
    /// The settings under which it was found.
    pub(crate) search: &'a Search,
    /// Where the process keeps its files.
    pub(crate) directory: PathBuf,
}

/// Replays.
pub(crate) fn run(replay: Replay<'_>) -> Replayed {
    match once(&replay, replay.schedule) {
        (Replayed::Fails(failure), Some(death)) => {
            Replayed::Fails(Box::new(explained(&replay, *failure, death)))
        }
        (replayed, _) => replayed,
    }
}

/// Replays a schedule; and how the process has died, if that is the failure.
fn once(replay: &Replay<'_>, schedule: &Schedule) -> (Replayed, Option<Death>) {
    // What an earlier replay has left must not be taken for something of this.
    let file = |name: &str| replay.directory.join(format!("{name}-{}", replay.model));
    let _ = std::fs::remove_file(file("flight"));
    let _ = std::fs::remove_file(file(PRINTED));
    let mut outcome = match process::run(&launch(replay, schedule), &mut |_| {}) {
        Ok(outcome) => outcome,
        Err(error) => {
            let path = replay.test.executable.path.display();
            return (Replayed::Broken(format!("cannot run {path}: {error}")), None);
        }
    };
    let printed = std::fs::read(file(PRINTED)).unwrap_or_default();
    outcome.output += &String::from_utf8_lossy(&printed[printed.len().saturating_sub(MAX_PRINTED)..]);
    let mut replayed = understand(&outcome, replay, schedule);
    let mut death = None;
    if let Replayed::Fails(failure) | Replayed::Passes(failure) | Replayed::Diverges(failure) = &mut replayed
    {
        failure.trace.take_printed(&printed, MAX_PRINTED);
        let told = outcome.models.get(&replay.model).and_then(|told| told.failure.as_ref());
        death = match outcome.end {
            _ if told.is_some() || failure.kind != FailureKind::Abort => None,
            End::Signal(signal) => Some(Death::Signal(signal)),
            End::Code(code) => Some(Death::Code(code)),
            End::Silent | End::Stopped => None,
        };
    }
    (replayed, death)
}

fn launch<'a>(replay: &Replay<'a>, schedule: &Schedule) -> Launch<'a> {
    let mut environment = replay.search.environment();
    environment.push(("ICB_REPLAY", schedule.to_string()));
    environment.push(("ICB_REPLAY_MODEL", replay.model.to_string()));
    Launch {
        test: replay.test,
        directory: replay.directory.clone(),
        environment,
        watchdog: replay.search.watchdog,
        limit: None,
        stop: &|| None,
    }
}

/// What is found out of a failure of which its process dies, by another process: which orders it takes, and a simpler one, if that is asked for. If
/// there is one, its replay is shown.
fn explained(replay: &Replay<'_>, mut failure: Failure, death: Death) -> Failure {
    let asked = |seconds: Option<f64>, default: f64| seconds.unwrap_or(default).max(0.0);
    let (explain, simplify) =
        (asked(replay.search.explain, EXPLAIN_SECONDS), asked(replay.search.simplify, 0.0));
    // Whoever kills a process from outside is no part of it.
    if !cfg!(unix) || explain + simplify == 0.0 || death == Death::Signal(KILLED) {
        return failure;
    }
    let mut launch = launch(replay, replay.schedule);
    launch.environment.push(("ICB_REPLAY_DIES", death.to_string()));
    // It says nothing before it has found out.
    launch.watchdog = Some(launch.watchdog.unwrap_or(DEFAULT_WATCHDOG) + explain + simplify);
    let told = process::run(&launch, &mut |_| {}).ok();
    let told = told.and_then(|mut outcome| outcome.models.get_mut(&replay.model)?.failure.take());
    let Some(told) = told.filter(|told| told.kind == FailureKind::Abort) else { return failure };
    if told.schedule != *replay.schedule {
        match once(replay, &told.schedule) {
            (Replayed::Fails(simpler), Some(how)) if how == death => failure = *simpler,
            _ => return failure,
        }
    }
    let count = failure.trace.steps.len();
    failure.trace.explanation =
        told.trace.explanation.filter(|told| told.orders.iter().all(|order| order.after < count));
    failure
}

/// The signal that ends a process at once.
const KILLED: i32 = 9;

fn understand(outcome: &Outcome, replay: &Replay<'_>, schedule: &Schedule) -> Replayed {
    let told = outcome.models.get(&replay.model);
    if let Some(passed) = told.and_then(|told| told.passed.as_ref()) {
        return Replayed::Passes(Box::new(passed.clone()));
    }
    if told.is_none()
        && outcome.refused.is_none()
        && let End::Code(_) = outcome.end
    {
        return never_called(replay);
    }
    // A `#[should_panic]` test fails as expected; its failure is what is asked for all the same.
    let mut failure = match told.and_then(|told| told.failure.clone()) {
        Some(mut failure) => {
            tell_expected(&mut failure, &outcome.output);
            failure
        }
        None => match judge(outcome, |model| flight::read(&replay.directory, model)) {
            Verdict::Failed { failure, .. } => *failure,
            Verdict::Refused(message) => return Replayed::Refused(message),
            Verdict::Broken(message) => return Replayed::Broken(message),
            _ => return never_called(replay),
        },
    };
    if let Some(told) = told.filter(|_| failure.trace.steps.is_empty()) {
        // The process died: what it had told until then is the trace.
        if failure.schedule.entries().is_empty() {
            failure.schedule = schedule.clone();
        }
        // Where it stood, if that is known, has come with the failure.
        let failure_backtrace = std::mem::take(&mut failure.trace.failure_backtrace);
        failure.trace =
            Trace { schedule: failure.schedule.clone(), failure_backtrace, ..told.traced.clone() };
    }
    if failure.kind == FailureKind::Divergence {
        Replayed::Diverges(Box::new(failure))
    } else {
        Replayed::Fails(Box::new(failure))
    }
}

fn never_called(replay: &Replay<'_>) -> Replayed {
    let message = format!("the test ended without calling its model number {}", replay.model);
    Replayed::Diverges(Box::new(Failure::new(FailureKind::Divergence, message)))
}
