//! What a run keeps, so that it can be gone on with, and what it takes over from an earlier one.

use super::Run;
use crate::cargo::metadata::Workspace;
use crate::cargo::tests::Test;
use crate::cli::TestArgs;
use crate::event::{Finished, Tally};
use crate::exit_code::Error;
use crate::report::json::LeftOut;
use crate::resume::{Begun, Round, Rounds, executable_key, key};
use crate::settings::{Bound, OnRace, Reduction};
use crate::shard::{self, ModelPart, ShardResult, ShardRound, ShardTest};
use crate::store::test_path;
use crate::worker::plan::Task;
use crate::worker::verdict::Verdict;
use icb_core::trace::{BoundReport, Shard, StrategyKind, journal_name};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where processes keep their files.
pub(super) fn work(arguments: &TestArgs, workspace: &Workspace) -> PathBuf {
    match arguments.shard {
        None => workspace.directory.join("work"),
        Some(shard) => workspace.directory.join("shards").join("work").join(shard::file_name(shard)),
    }
}

/// Where the results of shards go.
pub(super) fn shard_directory(arguments: &TestArgs, workspace: &Workspace) -> PathBuf {
    arguments.shard_dir.clone().unwrap_or_else(|| workspace.directory.join("shards"))
}

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
        let mut key = test_key(&executables[path], test, arguments);
        if arguments.max_bound == Bound::Unlimited {
            key += " unlimited";
        }
        if arguments.at_once {
            key += " at once";
        }
        if let Some(shard) = arguments.shard {
            key += &format!(" {shard}");
        }
        let directory = work(arguments, workspace).join(test_path(&test.id));
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

fn test_key(executable: &str, test: &Test<'_>, arguments: &TestArgs) -> String {
    key(executable, &test.id.to_string(), &arguments.search)
}

pub(super) fn lock<T>(rounds: &Mutex<T>) -> MutexGuard<'_, T> {
    rounds.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run<'_> {
    /// A task that an earlier run has done.
    pub(super) fn known(&self, task: Task) -> Option<Finished> {
        let rounds = lock(&self.rounds[task.test]);
        let round = rounds.get(task.min_bound).filter(|round| round.max_bound == task.max_bound)?;
        // Without the files of its states a part cannot be told to the others.
        if !round.parts.values().all(|(_, states)| states.exists()) {
            return None;
        }
        lock(&self.parts).insert((task.test, task.min_bound), round.parts.clone());
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
            parts: lock(&self.parts).get(&(task.test, task.min_bound)).cloned().unwrap_or_default(),
        };
        let directory = self.directory(task);
        let bound = match task.max_bound {
            Bound::Unlimited => None,
            Bound::Limited(bound) => Some(bound),
        };
        let journals = journal_name(bound) + "-";
        if lock(&self.rounds[task.test]).add(&directory, round).is_ok() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(&journals) {
                    // It is of no use any more; the next run removes it in any case.
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
    }

    /// The figures and the time of a task, together with what it took before it was last stopped: what a journal tells is done
    /// again in no time.
    pub(super) fn together(
        &self,
        task: Task,
        figures: Option<BoundReport>,
        seconds: f64,
        is_stopped: bool,
    ) -> (Option<BoundReport>, f64) {
        if !self.is_journaled() {
            return (figures, seconds);
        }
        let mut rounds = lock(&self.rounds[task.test]);
        let begun = rounds.begun(task.min_bound).cloned();
        let (figures, seconds) = add_up(begun, figures, seconds, is_stopped);
        if is_stopped {
            let begun = Begun { bound: task.min_bound, figures: figures.clone(), seconds };
            rounds.stop(&self.directory(task), begun);
        }
        (figures, seconds)
    }

    /// Whether a task that is stopped can go on where it was.
    pub(super) fn is_journaled(&self) -> bool {
        let search = &self.arguments.search;
        self.strategy() == StrategyKind::ContextBounded
            && search.reduction.is_none_or(|reduction| reduction == Reduction::PartialOrder)
            && search.on_race != Some(OnRace::Promote)
    }

    /// Writes the result of a shard.
    pub(super) fn write_shard(
        &self,
        shard: Shard,
        tally: &Tally,
        not_instrumented: Vec<LeftOut>,
    ) -> Result<PathBuf, Error> {
        let parts = lock(&self.parts);
        let mut states = Vec::new();
        let mut tests = Vec::new();
        for (number, test) in self.tests.iter().enumerate() {
            let mut rounds = Vec::new();
            for finished in &tally.records[number].rounds {
                let bound = finished.task.min_bound;
                let mut models = Vec::new();
                for (&model, (part, path)) in parts.get(&(number, bound)).into_iter().flatten() {
                    let doing = |error| Error::internal(format!("cannot read {}", path.display()), error);
                    let bytes = std::fs::read(path).map_err(doing)?;
                    states.extend_from_slice(&bytes);
                    models.push(ModelPart {
                        model,
                        part: part.clone(),
                        state_count: bytes.len() as u64 / 16,
                    });
                }
                rounds.push(ShardRound {
                    bound,
                    max_bound: finished.task.max_bound,
                    verdict: finished.verdict.clone(),
                    figures: finished.figures.clone(),
                    seconds: finished.seconds,
                    finding: finished.finding.clone(),
                    unchanged: finished.unchanged,
                    parts: models,
                });
            }
            let key = lock(&self.rounds[number]).key.clone();
            let key = key.strip_suffix(&format!(" {shard}")).unwrap_or(&key).to_owned();
            tests.push(ShardTest { name: test.id.to_string(), key, rounds });
        }
        let result = ShardResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shard,
            max_bound: self.arguments.max_bound,
            root: self.workspace.root.display().to_string(),
            not_instrumented,
            tests,
        };
        shard::write(&shard_directory(self.arguments, self.workspace), &result, &states)
    }
}

/// What a task has come to, and what it had come to before.
fn add_up(
    begun: Option<Begun>,
    mut figures: Option<BoundReport>,
    seconds: f64,
    is_stopped: bool,
) -> (Option<BoundReport>, f64) {
    if let Some(figures) = figures.as_mut().filter(|_| is_stopped) {
        // It last said so a moment before it was stopped.
        figures.seconds = seconds;
    }
    let Some(begun) = begun else { return (figures, seconds) };
    if let Some(figures) = &mut figures {
        figures.seconds += begun.seconds;
    }
    let count = |figures: &Option<BoundReport>| figures.as_ref().map_or(0, |figures| figures.executions);
    // Stopped before it has come as far again.
    if is_stopped && count(&begun.figures) > count(&figures) {
        figures = begun.figures;
        figures.iter_mut().for_each(|figures| figures.seconds = begun.seconds + seconds);
    }
    (figures, begun.seconds + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_was_stopped_has_taken_the_time_of_all_its_parts() {
        let figures = |executions, seconds| {
            let mut figures = BoundReport::new(2);
            (figures.executions, figures.seconds) = (executions, seconds);
            Some(figures)
        };
        let begun =
            |executions, seconds| Some(Begun { bound: 2, figures: figures(executions, seconds), seconds });
        for (begun, told, seconds, is_stopped, shown) in [
            (None, figures(10, 1.0), 1.5, false, (figures(10, 1.0), 1.5)),
            (None, figures(10, 1.0), 1.5, true, (figures(10, 1.5), 1.5)),
            (begun(10, 4.0), figures(12, 1.0), 1.5, false, (figures(12, 5.0), 5.5)),
            (begun(10, 4.0), figures(12, 1.0), 1.5, true, (figures(12, 5.5), 5.5)),
            (begun(10, 4.0), figures(9, 1.0), 1.5, true, (figures(10, 5.5), 5.5)),
            (begun(10, 4.0), None, 0.5, true, (figures(10, 4.5), 4.5)),
        ] {
            assert_eq!(add_up(begun, told, seconds, is_stopped), shown);
        }
    }
}
