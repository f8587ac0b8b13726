//! What a process's outcome means for its test. Pure: it reads nothing but the outcome and the recording.

use super::process::{End, ModelOutcome, Outcome};
use icb_core::trace::flight::Flight;
use icb_core::trace::{BoundReport, Death, Failure, FailureKind, Stopped, signal_name, table};
use serde::{Deserialize, Serialize};

/// How libtest says that a `#[should_panic]` test has not panicked.
const DID_NOT_PANIC: &str = "test did not panic as expected";
/// How libtest says which words a `#[should_panic(expected = "…")]` test has missed in its panic.
const EXPECTED: &str = " expected substring: ";
/// How std and the engine say that a stack was too small.
const OVERFLOW: &str = "has overflowed its stack";
/// Lines of output that a message quotes.
const QUOTED: usize = 12;

/// What is known of a test after one task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", content = "with", rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// Every execution within the bound was run and none failed.
    Holds {
        /// A higher bound adds nothing, or the test itself allows none.
        last: bool,
        /// Because there is no execution with more preemptions.
        exhausted: bool,
        /// The test is `#[should_panic]` and has not failed yet.
        expects_failure: bool,
    },
    /// The last bound, searched at once, does not hold, or was not searched: it goes on from bound 0.
    BoundByBound {
        /// Why.
        reason: String,
    },
    /// A limit cut the search short.
    Incomplete {
        /// Which.
        reason: String,
    },
    /// The test has no model; it ran once and passed.
    RunOnce,
    /// A test that is no model can be: it was run once, for real, and passed.
    Unmodelled {
        /// Why it could not be explored.
        reason: String,
    },
    /// A model failed and the test expects it to (`#[should_panic]`).
    FailsAsExpected {
        /// How.
        message: String,
        /// In an execution that took a stale value (weak memory).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stale: bool,
    },
    /// A model failed.
    Failed {
        /// Which call of `model`.
        model: u32,
        /// How.
        failure: Box<Failure>,
    },
    /// The test failed outside any model.
    Ordinary {
        /// What it printed.
        output: String,
    },
    /// The test process would not run with these settings.
    Refused(String),
    /// The test process could not be run or understood.
    Broken(String),
}

/// Judges an outcome. `recording` is asked for the last moments of a model in which the process died.
pub(crate) fn judge(outcome: &Outcome, recording: impl Fn(u32) -> Option<Flight>) -> Verdict {
    if let Some(message) = &outcome.refused {
        return Verdict::Refused(message.clone());
    }
    if let Some(message) = &outcome.misunderstood {
        return Verdict::Broken(message.clone());
    }
    let passed = outcome.end == End::Code(0);
    for (&model, told) in &outcome.models {
        if let Some(failure) = &told.failure {
            return if passed {
                Verdict::FailsAsExpected { message: failure.to_string(), stale: false }
            } else {
                let mut failure = Box::new(failure.clone());
                failure.message = table::message(&failure);
                tell_expected(&mut failure, &outcome.output);
                // The watchdog and the handler of overflows cannot reach into the execution they interrupt.
                if failure.schedule.entries().is_empty()
                    && let Some(flight) = recording(model)
                {
                    recall(&mut failure, flight);
                }
                Verdict::Failed { model, failure }
            };
        }
    }
    if let Some(reason) = &outcome.stopped {
        return Verdict::Incomplete { reason: reason.clone() };
    }
    if let Some((&model, told)) = outcome.models.iter().find(|(_, told)| told.finished.is_none()) {
        return Verdict::Failed { model, failure: Box::new(death(outcome, told, recording(model))) };
    }
    let expects_failure = !passed && outcome.output.contains(DID_NOT_PANIC);
    match outcome.end {
        End::Code(0) if outcome.models.is_empty() => Verdict::RunOnce,
        End::Code(0) => completeness(outcome, false),
        _ if expects_failure && !outcome.models.is_empty() => completeness(outcome, true),
        End::Code(_) => Verdict::Ordinary { output: outcome.output.clone() },
        End::Signal(signal) => {
            let output =
                format!("{}\n(the process died of {})", outcome.output.trim_end(), signal_name(signal));
            Verdict::Ordinary { output }
        }
        End::Silent | End::Stopped => {
            Verdict::Broken("the test process was ended after a long silence".to_owned())
        }
    }
}

/// A test that is to panic has done so, with other words than it says: the failure tells these as well.
pub(crate) fn tell_expected(failure: &mut Failure, output: &str) {
    if failure.kind == FailureKind::Panic
        && let Some(words) = output.lines().find_map(|line| line.strip_prefix(EXPECTED))
    {
        failure.message += &format!("\nwhich does not contain {words}, as the test expects");
    }
}

/// What the models of a test say, whatever comes after them; `None` if there are none.
pub(crate) fn of_models(outcome: &Outcome) -> Option<Verdict> {
    (!outcome.models.is_empty()).then(|| completeness(outcome, false))
}

fn completeness(outcome: &Outcome, expects_failure: bool) -> Verdict {
    let reports = || outcome.models.values().filter_map(|told| told.finished.as_ref());
    let bounds = || outcome.models.values().flat_map(|told| &told.bounds);
    if bounds().any(|bound| !bound.complete) {
        let reason = reports().find_map(|report| report.stopped).and_then(Stopped::reason);
        let reason = reason.unwrap_or("left out executions that no bound describes");
        return Verdict::Incomplete { reason: reason.to_owned() };
    }
    let exhausted =
        outcome.models.values().all(|told| told.bounds.last().is_some_and(|bound| bound.exhausted));
    // A test may set a lower limit of its own; then it tells nothing about this bound.
    let limits_itself = outcome.models.values().all(|told| told.bounds.is_empty());
    Verdict::Holds { last: exhausted || limits_itself, exhausted, expects_failure }
}

/// The figures of a task over all models of the test; `None` if no model told any.
pub(crate) fn figures(outcome: &Outcome) -> Option<BoundReport> {
    let told = outcome.models.values().filter_map(|told| {
        let bounds = told.bounds.iter().chain(&told.progress);
        bounds.cloned().reduce(|sum, bound| follow(&sum, bound))
    });
    told.reduce(|sum, model| add(sum, &model))
}

/// Figures of a bound together with those of lower ones, whose states it has counted.
fn follow(lower: &BoundReport, bound: BoundReport) -> BoundReport {
    let (states, exhausted) = (bound.states.max(lower.states), bound.exhausted);
    let mut sum = add(bound, lower);
    (sum.states, sum.exhausted) = (states, exhausted);
    sum
}

/// Figures of two models together.
pub(crate) fn add(mut sum: BoundReport, other: &BoundReport) -> BoundReport {
    sum.bound = sum.bound.max(other.bound);
    sum.executions += other.executions;
    sum.steps += other.steps;
    sum.states += other.states;
    sum.failures += other.failures;
    sum.max_steps = sum.max_steps.max(other.max_steps);
    sum.max_threads = sum.max_threads.max(other.max_threads);
    sum.seconds += other.seconds;
    sum.complete &= other.complete;
    sum.exhausted &= other.exhausted;
    sum.restrict_as(other);
    sum
}

/// The failure of a process that died inside a model.
fn death(outcome: &Outcome, told: &ModelOutcome, recording: Option<Flight>) -> Failure {
    let overflow = outcome.output.contains(OVERFLOW);
    let (kind, how) = match outcome.end {
        End::Signal(_) if overflow => (
            FailureKind::StackOverflow,
            "a thread overflowed its stack; give threads a larger one with --stack-size".to_owned(),
        ),
        End::Signal(signal) => (FailureKind::Abort, Death::Signal(signal).words()),
        End::Code(code) => (FailureKind::Abort, Death::Code(code).words()),
        End::Silent | End::Stopped => {
            (FailureKind::Blocked, "the process was silent for too long and was ended".to_owned())
        }
    };
    let quoted = last_lines(&outcome.output);
    let mut failure = Failure::new(
        kind,
        if quoted.is_empty() { how } else { format!("{how}\nIt printed last:\n{quoted}") },
    );
    failure.execution = told.progress.as_ref().map_or(0, |bound| bound.executions);
    if let Some(flight) = recording {
        recall(&mut failure, flight);
    }
    failure
}

/// Puts what was recorded into a failure.
fn recall(failure: &mut Failure, flight: Flight) {
    failure.bound = flight.bound;
    failure.execution = flight.execution;
    failure.schedule = flight.schedule;
}

/// The last lines that a process printed, without libtest's own and without backtraces, which are long and say little of why it died.
fn last_lines(output: &str) -> String {
    let said = |line| match str::split_once(line, " ... ") {
        Some((test, said)) if test.starts_with("test ") => said,
        _ => line,
    };
    let own = |line: &&str| line.trim().is_empty() || line.starts_with("running ");
    let mut in_backtrace = false;
    let mut is_backtrace = |line: &&str| {
        // Its frames stand further in; `note:` of what is left out is its last line.
        let of_frame = line.starts_with("  ");
        in_backtrace = *line == "stack backtrace:" || in_backtrace && of_frame;
        in_backtrace || line.starts_with("note: ") && line.contains("RUST_BACKTRACE")
    };
    let lines: Vec<&str> =
        output.lines().map(said).filter(|line| !own(line) && !is_backtrace(line)).collect();
    lines[lines.len().saturating_sub(QUOTED)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::Report;
    use std::collections::BTreeMap;

    fn outcome(end: End, models: Vec<ModelOutcome>, output: &str) -> Outcome {
        let models: BTreeMap<u32, ModelOutcome> = (0..).zip(models).collect();
        Outcome { end, models, refused: None, misunderstood: None, output: output.to_owned(), stopped: None }
    }

    fn finished(complete: bool, exhausted: bool) -> ModelOutcome {
        let mut bound = BoundReport::new(1);
        (bound.complete, bound.exhausted, bound.executions) = (complete, exhausted, 10);
        let mut report = Report::default();
        report.stopped = (!complete).then_some(Stopped::Executions);
        ModelOutcome { bounds: vec![bound], finished: Some(report), ..ModelOutcome::default() }
    }

    fn failed() -> ModelOutcome {
        ModelOutcome { failure: Some(Failure::new(FailureKind::Panic, "x")), ..ModelOutcome::default() }
    }

    fn verdict(end: End, models: Vec<ModelOutcome>, output: &str) -> Verdict {
        judge(&outcome(end, models, output), |_| None)
    }

    #[test]
    fn what_a_process_tells_is_judged() {
        let holds = |last, exhausted, expects_failure| Verdict::Holds { last, exhausted, expects_failure };
        let table = [
            (verdict(End::Code(0), vec![], "ok"), Verdict::RunOnce),
            (verdict(End::Code(0), vec![finished(true, false)], ""), holds(false, false, false)),
            (
                verdict(End::Code(0), vec![finished(true, true), finished(true, false)], ""),
                holds(false, false, false),
            ),
            (
                verdict(End::Code(0), vec![finished(true, true), finished(true, true)], ""),
                holds(true, true, false),
            ),
            (
                verdict(
                    End::Code(101),
                    vec![finished(true, false)],
                    "note: test did not panic as expected at x",
                ),
                holds(false, false, true),
            ),
            (
                verdict(End::Code(101), vec![finished(true, false)], "no"),
                Verdict::Ordinary { output: "no".into() },
            ),
            (verdict(End::Code(101), vec![], "no"), Verdict::Ordinary { output: "no".into() }),
            (
                verdict(End::Code(0), vec![failed()], ""),
                Verdict::FailsAsExpected { message: "panic: x".into(), stale: false },
            ),
            (
                verdict(End::Code(0), vec![finished(true, false), finished(false, false)], ""),
                Verdict::Incomplete { reason: "stopped by the limit on executions".into() },
            ),
        ];
        for (index, (actual, expected)) in table.into_iter().enumerate() {
            assert_eq!(actual, expected, "case {index}");
        }
        let silent = ModelOutcome { finished: Some(Report::default()), ..ModelOutcome::default() };
        assert_eq!(verdict(End::Code(0), vec![silent], ""), holds(true, false, false));
        assert!(matches!(
            verdict(End::Code(101), vec![finished(true, false), failed()], ""),
            Verdict::Failed { model: 1, .. }
        ));
    }

    #[test]
    fn a_panic_with_other_words_than_are_expected_says_so() {
        let output = "note: panic did not contain expected string\n      panic message: \"x\"\n expected substring: \"y\"\n";
        let message = |output: &str| match verdict(End::Code(101), vec![failed()], output) {
            Verdict::Failed { failure, .. } => failure.message,
            other => panic!("{other:?}"),
        };
        assert_eq!(message(output), "x\nwhich does not contain \"y\", as the test expects");
        assert_eq!(message("FAILED"), "x");
    }

    #[test]
    fn why_a_process_died_is_not_lost_behind_a_backtrace() {
        let frames: String =
            (0..40).map(|n| format!("{n:>4}: core::f\n             at /rustc/core.rs:1:2\n")).collect();
        let note = "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.";
        let output = format!(
            "running 1 test\ntest x ... begins\n  indented\nmemory allocation of 9 bytes failed\nstack backtrace:\n{frames}{note}\nnote: aborting\n"
        );
        assert_eq!(
            last_lines(&output),
            "begins\n  indented\nmemory allocation of 9 bytes failed\nnote: aborting"
        );
    }

    #[test]
    fn a_death_inside_a_model_becomes_a_failure_with_its_schedule() {
        let flight = Flight { model: 0, bound: 1, execution: 9, schedule: "icb1:0*2!1".parse().unwrap() };
        let table = [
            (End::Signal(11), "x", FailureKind::Abort, "SIGSEGV"),
            (
                End::Signal(6),
                "a coroutine has overflowed its stack\n",
                FailureKind::StackOverflow,
                "overflowed",
            ),
            (End::Code(0), "", FailureKind::Abort, "exit code 0"),
            (End::Silent, "", FailureKind::Blocked, "silent"),
        ];
        for (end, output, kind, words) in table {
            let outcome = outcome(end, vec![ModelOutcome::default()], output);
            let Verdict::Failed { model: 0, failure } = judge(&outcome, |_| Some(flight.clone())) else {
                panic!("{end:?}");
            };
            assert_eq!((failure.kind, failure.execution, failure.bound), (kind, 9, 1));
            assert!(failure.message.contains(words), "{}", failure.message);
            assert_eq!(failure.schedule, flight.schedule);
        }
    }

    #[test]
    fn figures_are_summed_over_models() {
        let outcome = outcome(End::Code(0), vec![finished(true, true), finished(true, false)], "");
        let sum = figures(&outcome).unwrap();
        assert_eq!((sum.executions, sum.complete, sum.exhausted), (20, true, false));
    }
}
