//! Runs one schedule again, with backtraces on.

use super::flight;
use super::process::{self, End, Launch, Outcome};
use super::verdict::{Verdict, judge, tell_expected};
use crate::cargo::tests::Test;
use crate::settings::Search;
use icb_core::trace::{Failure, FailureKind, PRINTED, Schedule, Trace};
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
    let mut environment = replay.search.environment();
    environment.push(("ICB_REPLAY", replay.schedule.to_string()));
    environment.push(("ICB_REPLAY_MODEL", replay.model.to_string()));
    let directory = replay.directory.clone();
    let launch = Launch {
        test: replay.test,
        directory,
        environment,
        watchdog: replay.search.watchdog,
        limit: None,
        stop: &|| None,
    };
    // What an earlier replay has left must not be taken for something of this.
    let file = |name: &str| replay.directory.join(format!("{name}-{}", replay.model));
    let _ = std::fs::remove_file(file("flight"));
    let _ = std::fs::remove_file(file(PRINTED));
    match process::run(&launch, &mut |_| {}) {
        Ok(mut outcome) => {
            let printed = std::fs::read(file(PRINTED)).unwrap_or_default();
            outcome.output += &String::from_utf8_lossy(&printed[printed.len().saturating_sub(MAX_PRINTED)..]);
            let mut replayed = understand(&outcome, &replay);
            if let Replayed::Fails(failure) | Replayed::Passes(failure) | Replayed::Diverges(failure) =
                &mut replayed
            {
                failure.trace.take_printed(&printed, MAX_PRINTED);
            }
            replayed
        }
        Err(error) => {
            Replayed::Broken(format!("cannot run {}: {error}", replay.test.executable.path.display()))
        }
    }
}

fn understand(outcome: &Outcome, replay: &Replay<'_>) -> Replayed {
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
            failure.schedule = replay.schedule.clone();
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
