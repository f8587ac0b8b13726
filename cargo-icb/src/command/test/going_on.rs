//! Whether a run that has come to no end can be gone on with, and by which command. Knows what is kept: a journal of the default search, whole bounds of
//! others that go by preemptions, and nothing of the rest.

use super::Run;
use crate::event::{Record, Tally};
use crate::exit_code::Exit;
use crate::worker::budget::{OUT_OF_EXECUTIONS, OUT_OF_TIME};
use crate::worker::verdict::Verdict;
use icb_core::trace::Stopped;
use std::collections::BTreeSet;

/// Why a run is over that somebody has asked to stop.
pub(super) const INTERRUPTED: &str = "interrupted";

/// What is kept of a test that is stopped, and which limits of its own the command line gives.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Parts of a bound too.
    journaled: bool,
    /// `--max-executions`.
    max_executions: bool,
    /// `--max-test-time`.
    max_time: bool,
}

impl Run<'_> {
    /// What to say of a run that ended so: which command goes on, if one does.
    pub(super) fn going_on(&self, tally: &Tally, exit: Exit) -> Option<String> {
        let search = &self.arguments.search;
        let journaled = self.is_journaled();
        let bounds = self.strategy().is_by_preemptions() && !self.arguments.at_once;
        if !matches!(exit, Exit::Incomplete | Exit::Interrupted) || !(journaled || bounds) {
            return None;
        }
        let kept = Kept {
            journaled,
            max_executions: search.max_executions.is_some(),
            max_time: search.max_time.is_some(),
        };
        let needed: Vec<&str> =
            tally.records.iter().filter_map(|record| needs(reason(record)?, kept)).collect();
        let with: BTreeSet<&str> = needed.iter().copied().filter(|option| !option.is_empty()).collect();
        let with: String = with.iter().map(|option| format!(" and a greater {option}")).collect();
        let place = if journaled { "where" } else { "with the bound at which" };
        let stopped = format!("The same command with --resume{with} goes on {place} this one stopped.");
        (!needed.is_empty()).then_some(stopped)
    }
}

/// Why a test has come to no end, if it has not.
fn reason(record: &Record) -> Option<&str> {
    match record.rounds.last().map(|round| &round.verdict) {
        None => Some(INTERRUPTED),
        Some(Verdict::Incomplete { reason } | Verdict::BoundByBound { reason }) => Some(reason),
        Some(_) => None,
    }
}

/// The option that has to be greater for a test to go on that has stopped for this reason: none where it is empty. `None` where nothing goes on.
fn needs(reason: &str, kept: Kept) -> Option<&'static str> {
    let is = |words: Option<&str>| words.is_some_and(|words| reason.contains(words));
    // Executions of earlier runs count for the limits on them.
    if is(Some(OUT_OF_EXECUTIONS)) {
        return Some("--max-run-executions");
    }
    if is(Stopped::Executions.reason()) {
        return kept.max_executions.then_some("--max-executions");
    }
    if is(Stopped::Duration.reason()) {
        // Without a journal the bound begins anew.
        let greater = kept.max_time.then_some("--max-test-time");
        return if kept.journaled { Some("") } else { greater };
    }
    (is(Some(INTERRUPTED)) || is(Some(OUT_OF_TIME))).then_some("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_goes_on_is_said_to() {
        let kept = |journaled, limited| Kept { journaled, max_executions: limited, max_time: limited };
        for (reason, journaled, limited, expected) in [
            ("interrupted", true, false, Some("")),
            ("interrupted; after bound 0 the test failed outside any model", false, false, Some("")),
            ("stopped by the run's limit on time", false, false, Some("")),
            ("stopped by the run's limit on executions", true, true, Some("--max-run-executions")),
            ("stopped by the limit on executions", true, true, Some("--max-executions")),
            // The test's own limit.
            ("stopped by the limit on executions", true, false, None),
            ("stopped by the limit on time in the middle of an execution", true, true, Some("")),
            ("stopped by the limit on time", false, true, Some("--max-test-time")),
            ("stopped by the limit on time", false, false, None),
            ("left out executions that no bound describes", true, true, None),
            ("what is asserted after the model could not be judged", true, true, None),
        ] {
            assert_eq!(needs(reason, kept(journaled, limited)), expected, "{reason}");
        }
    }
}
