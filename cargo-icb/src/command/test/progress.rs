//! What a run keeps, so that it can be gone on with, and what it takes over from an earlier one.

use super::Run;
use crate::cargo::metadata::Workspace;
use crate::cargo::tests::Test;
use crate::cli::TestArgs;
use crate::event::Finished;
use crate::exit_code::Error;
use crate::resume::{Round, Rounds, executable_key, key};
use crate::settings::{OnRace, Reduction};
use crate::store::test_path;
use crate::worker::plan::Task;
use crate::worker::verdict::Verdict;
use icb_core::trace::StrategyKind;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What has been proved of each test: nothing, unless the run goes on with an earlier one.
pub(super) fn load(
    arguments: &TestArgs,
    workspace: &Workspace,
    tests: &[Test<'_>],
) -> Result<Vec<Mutex<Rounds>>, Error> {
    let mut executables: BTreeMap<&Path, String> = BTreeMap::new();
    let mut all = Vec::new();
    for test in tests {
        let path = test.executable.path.as_path();
        if !executables.contains_key(path) {
            executables.insert(path, executable_key(path)?);
        }
        let key = key(&executables[path], &test.id.to_string(), &arguments.search);
        let directory = workspace.directory.join("work").join(test_path(&test.id));
        let rounds = if arguments.resume { Rounds::load(&directory, &key)? } else { None };
        let rounds = match rounds {
            Some(rounds) => rounds,
            None => {
                // What another run, or another build, has left must not be taken for this one's. It may well not be there.
                let _ = std::fs::remove_dir_all(&directory);
                Rounds::begin(&directory, key)
            }
        };
        all.push(Mutex::new(rounds));
    }
    Ok(all)
}

pub(super) fn lock(rounds: &Mutex<Rounds>) -> MutexGuard<'_, Rounds> {
    rounds.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run<'_> {
    /// A task that an earlier run has done.
    pub(super) fn known(&self, task: Task) -> Option<Finished> {
        let rounds = lock(&self.rounds[task.test]);
        let round = rounds.get(task.min_bound).filter(|round| round.max_bound == task.max_bound)?;
        Some(Finished {
            task,
            figures: round.figures.clone(),
            seconds: round.seconds,
            verdict: round.verdict.clone(),
            finding: None,
            unchanged: self.tests[task.test].executable.unchanged,
        })
    }

    /// Keeps what a task has proved. Without that it is done again when the run is resumed.
    pub(super) fn keep(&self, finished: &Finished) {
        let task = finished.task;
        if !matches!(finished.verdict, Verdict::Holds { .. }) {
            return;
        }
        let round = Round {
            bound: task.min_bound,
            max_bound: task.max_bound,
            figures: finished.figures.clone(),
            seconds: finished.seconds,
            verdict: finished.verdict.clone(),
        };
        let directory = self.directory(task);
        let journals = format!("journal-{}-", task.min_bound);
        if lock(&self.rounds[task.test]).add(&directory, round).is_ok() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(&journals) {
                    // It is of no use any more; the next run removes it in any case.
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Whether a task that is stopped can go on where it was.
    pub(super) fn is_journaled(&self) -> bool {
        let search = &self.arguments.search;
        self.strategy() == StrategyKind::ContextBounded
            && search.reduction.is_none_or(|reduction| reduction == Reduction::PartialOrder)
            && search.on_race != Some(OnRace::Promote)
    }
}
