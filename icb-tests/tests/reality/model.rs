//! What the model says can happen.

use crate::{DEADLOCK, Outcome};
use icb_core::program::End;
use icb_core::runtime::Settings;
use icb_core::trace::FailureKind;
use icb_tests::searches::reduced;
use icb_tests::watched::{self, Slot};
use std::collections::BTreeSet;

/// Executions of a search; a program that has more is too large.
const MAX_EXECUTIONS: u64 = 400_000;

/// Nothing: in the model every thread may be stopped anywhere.
pub(crate) fn nudge() {}

/// How executions are run: a panic that nobody takes is no failure.
pub(crate) fn settings(weak_memory: bool) -> Settings {
    Settings { weak_memory, allow_unjoined_panics: true, unwind_failed: true, ..Settings::default() }
}

/// The outcomes of all executions, without a bound.
pub(crate) fn outcomes(name: &str, program: fn() -> Outcome) -> BTreeSet<Outcome> {
    let told: Slot<Outcome> = Slot::default();
    let tell = told.clone();
    let settings = Settings { detached: true, run_out: true, ..settings(name.starts_with("atomics")) };
    let body = move || {
        tell.put(program());
    };
    let found = watched::search(body, settings, &mut reduced(None), Some(MAX_EXECUTIONS), |_, result| {
        let outcome = told.take();
        match &result.end {
            End::Passed => outcome,
            End::Failed(failure) if failure.kind == FailureKind::Deadlock => Some(DEADLOCK.to_owned()),
            End::Failed(failure) => Some(format!("{:?}: {}", failure.kind, failure.message)),
            End::GivenUp => None,
        }
    });
    assert!(found.report.stopped.is_none(), "{name} has more than {MAX_EXECUTIONS} executions");
    println!("{name}: {} executions", found.levels.iter().map(|l| l.execution_count).sum::<u64>());
    found.levels.into_iter().flat_map(|level| level.outcomes).collect()
}
