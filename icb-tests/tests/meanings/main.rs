//! What the words of the tester mean, one small program for each: what counts as a preemption and what is free,
//! how executions begin and end, and what each primitive orders.

mod connections;
mod costs;
mod ends;
mod foreign;
mod idle;
mod orders;
mod panics;
mod primitives;
mod reality;
mod sleeps;
mod spinning;
mod statics;
mod surroundings;
mod time;
mod unbounded;

use icb_std::model::{Builder, Failure, FailureKind, Reduction, Report};
use std::process::{Command, Output};

/// Explores up to three preemptions without spurious wake-ups and failures.
fn plain() -> Builder {
    Builder::new().max_bound(3).spurious(false).reduction(Reduction::None)
}

/// Executions with exactly 0, 1, 2, 3 preemptions.
fn executions(report: &Report) -> [u64; 4] {
    std::array::from_fn(|bound| report.bounds.get(bound).map_or(0, |b| b.executions))
}

/// How and at which bound it failed first.
fn verdict(report: &Report) -> Verdict {
    report.failure.as_ref().map(|failure| (failure.kind, failure.bound))
}

/// The failure, which must be there.
fn failure(report: &Report) -> &Failure {
    report.failure.as_ref().expect("it fails")
}

/// How and at which bound a program fails first.
type Verdict = Option<(FailureKind, u32)>;

/// A panic after one preemption.
const PANIC: Verdict = Some((FailureKind::Panic, 1));

/// Runs a table of programs and compares how each fails.
fn check_verdicts(builder: &Builder, table: &[(&str, fn(), Verdict)]) {
    for &(name, body, expected) in table {
        let report = builder.clone().explore(body);
        assert_eq!(verdict(&report), expected, "{name}: {:?}", report.failure.map(|f| f.to_string()));
        assert_eq!(report.complete, expected.is_none(), "{name}");
    }
}

/// Runs tests that are ignored, whose names contain this, in a process of their own.
fn run_alone(names: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", names]).args(arguments).output().unwrap()
}
