//! The results of all shards, put together as if one machine had done it all. A bound is claimed only if every shard has exhausted
//! its part of it; pieces that several shards have done are counted once.

use super::{EXTENSION, ShardFile, ShardRound, ShardTest, read};
use crate::event::Finished;
use crate::exit_code::Error;
use crate::report::json::LeftOut;
use crate::settings::Bound;
use crate::worker::plan::Task;
use crate::worker::verdict::{Verdict, add};
use icb_core::trace::{BoundReport, Ownership, Piece, Shard};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// A run that was made in parts.
#[derive(Debug)]
pub(crate) struct Merged {
    /// Names of the tests.
    pub(crate) names: Vec<String>,
    /// The last bound.
    pub(crate) max_bound: Bound,
    /// Root of the workspace.
    pub(crate) root: PathBuf,
    /// Packages that some shard has not instrumented.
    pub(crate) not_instrumented: Vec<LeftOut>,
    /// How many files there are.
    pub(crate) file_count: usize,
    /// What all shards together have done, in the order in which one run would tell it.
    pub(crate) rounds: Vec<Finished>,
}

/// Reads the results in a directory and puts them together.
pub(crate) fn merge(directory: &Path) -> Result<Merged, Error> {
    let entries = std::fs::read_dir(directory).map_err(|error| {
        Error::Shards(format!(
            "cannot read {}: {error}; name the directory that --shard-dir has named",
            directory.display()
        ))
    })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    paths.sort();
    let mut files = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(|file| file.result.shard);
    let Some(first) = files.first() else {
        return Err(Error::Shards(format!(
            "there are no results in {}; `cargo icb test --shard 1/16 --shard-dir {}` writes one",
            directory.display(),
            directory.display()
        )));
    };
    for file in &files {
        check_belonging(first, file)?;
    }
    check_completeness(directory, &files)?;
    let mut rounds = Vec::new();
    for test in 0..first.result.tests.len() {
        merge_test(&files, test, &mut rounds)?;
    }
    rounds.sort_by_key(|finished: &Finished| (finished.task.min_bound, finished.task.test));
    let mut not_instrumented: Vec<LeftOut> = Vec::new();
    for left_out in files.iter().flat_map(|file| &file.result.not_instrumented) {
        if !not_instrumented.contains(left_out) {
            not_instrumented.push(left_out.clone());
        }
    }
    Ok(Merged {
        names: first.result.tests.iter().map(|test| test.name.clone()).collect(),
        max_bound: first.result.max_bound,
        root: PathBuf::from(&first.result.root),
        not_instrumented,
        file_count: files.len(),
        rounds,
    })
}

/// Whether a result is of the same run.
fn check_belonging(first: &ShardFile, file: &ShardFile) -> Result<(), Error> {
    let (one, other) = (&first.result, &file.result);
    let tests =
        |tests: &[ShardTest]| tests.iter().map(|t| (t.name.clone(), t.key.clone())).collect::<Vec<_>>();
    let difference = if one.version != other.version {
        "another version of cargo-icb"
    } else if !one.shard.belongs_to(&other.shard) {
        "a run with another number of shards"
    } else if one.tests.iter().map(|t| &t.name).ne(other.tests.iter().map(|t| &t.name)) {
        "a run of other tests"
    } else if tests(&one.tests) != tests(&other.tests) {
        "another build of the tests, or other settings"
    } else if one.max_bound != other.max_bound {
        "a run to another bound"
    } else {
        return Ok(());
    };
    Err(Error::Shards(format!(
        "{} does not belong to {}: it is of {difference}; take away the one that is not of this run",
        file.path.display(),
        first.path.display()
    )))
}

/// Whether every shard is there once.
fn check_completeness(directory: &Path, files: &[ShardFile]) -> Result<(), Error> {
    let count = files[0].result.shard.whole.1;
    let mut found: BTreeMap<u32, Vec<&ShardFile>> = BTreeMap::new();
    for file in files {
        found.entry(file.result.shard.whole.0).or_default().push(file);
    }
    for number in 1..=count {
        let missing = |shard: String| {
            Error::Shards(format!(
                "shard {shard} is missing in {}; run it, or copy its result there",
                directory.display()
            ))
        };
        let parts = found.remove(&number).ok_or_else(|| missing(format!("{number}/{count}")))?;
        let part_count = parts[0].result.shard.part.1;
        let mut seen: BTreeMap<Shard, &ShardFile> = BTreeMap::new();
        for file in parts {
            let shard = file.result.shard;
            if shard.part.1 != part_count {
                let other =
                    seen.values().next().map_or_else(String::new, |file| file.path.display().to_string());
                return Err(Error::Shards(format!(
                    "{} and {other} divide shard {number}/{count} in different ways; remove what is of no use",
                    file.path.display()
                )));
            }
            if let Some(other) = seen.insert(shard, file) {
                return Err(Error::Shards(format!(
                    "{} and {} are both shard {shard}; remove one of them",
                    other.path.display(),
                    file.path.display()
                )));
            }
        }
        for part in 1..=part_count {
            let shard = Shard { whole: (number, count), part: (part, part_count) };
            if !seen.contains_key(&shard) {
                return Err(missing(shard.to_string()));
            }
        }
    }
    Ok(())
}

/// Puts together what was done of a test.
fn merge_test(files: &[ShardFile], test: usize, rounds: &mut Vec<Finished>) -> Result<(), Error> {
    let bounds: BTreeSet<u32> =
        files.iter().flat_map(|file| &file.result.tests[test].rounds).map(|round| round.bound).collect();
    for bound in bounds {
        let found: Vec<Option<(&ShardFile, &ShardRound)>> = files
            .iter()
            .map(|file| {
                let round = file.result.tests[test].rounds.iter().find(|round| round.bound == bound)?;
                Some((file, round))
            })
            .collect();
        let finished = merge_round(files, &found, test, bound)?;
        let goes_on = matches!(finished.verdict, Verdict::Holds { last: false, .. });
        rounds.push(finished);
        if !goes_on {
            break;
        }
    }
    Ok(())
}

fn merge_round(
    files: &[ShardFile],
    found: &[Option<(&ShardFile, &ShardRound)>],
    test: usize,
    bound: u32,
) -> Result<Finished, Error> {
    let there = || found.iter().flatten();
    let max_bound = there().next().map_or(Bound::Limited(bound), |(_, round)| round.max_bound);
    let mut finished = Finished {
        task: Task { min_bound: bound, test, max_bound },
        figures: None,
        seconds: there().map(|(_, round)| round.seconds).sum(),
        verdict: Verdict::Incomplete { reason: String::new() },
        finding: None,
        unchanged: there().any(|(_, round)| round.unchanged),
    };
    // A failure is one whoever has found it. Of several, the least schedule.
    let schedule = |round: &ShardRound| round.finding.as_ref().map(|f| f.failure.schedule.to_string());
    let ends = there()
        .filter(|(_, round)| !matches!(round.verdict, Verdict::Holds { .. } | Verdict::Incomplete { .. }));
    if let Some((_, round)) = ends.min_by_key(|(_, round)| schedule(round)) {
        finished.verdict = round.verdict.clone();
        finished.finding = round.finding.clone();
        finished.figures = round.figures.clone();
        return Ok(finished);
    }
    for (file, round) in files.iter().zip(found) {
        let why = match round.map(|(_, round)| &round.verdict) {
            Some(Verdict::Holds { .. }) => continue,
            Some(Verdict::Incomplete { reason }) => reason.clone(),
            _ => "not run".to_owned(),
        };
        finished.verdict = Verdict::Incomplete { reason: format!("shard {}: {why}", file.result.shard) };
        let figures = there().filter_map(|(_, round)| round.figures.clone());
        finished.figures = figures.reduce(|sum, figures| add(sum, &figures));
        return Ok(finished);
    }
    let name = &files[0].result.tests[test].name;
    let figures = merge_parts(&there().copied().collect::<Vec<_>>(), bound).map_err(|reason| {
        Error::Shards(format!(
            "the results of {name} at bound {bound} do not fit together: {reason}; run all shards again"
        ))
    })?;
    let expects =
        there().any(|(_, round)| matches!(round.verdict, Verdict::Holds { expects_failure: true, .. }));
    let exhausted = figures.as_ref().is_some_and(|figures| figures.exhausted);
    let alone = there().all(|(_, round)| matches!(round.verdict, Verdict::Holds { last: true, .. }));
    finished.verdict = Verdict::Holds { last: exhausted || alone, exhausted, expects_failure: expects };
    finished.figures = figures;
    Ok(finished)
}

/// Figures of all models of a test at a bound.
fn merge_parts(found: &[(&ShardFile, &ShardRound)], bound: u32) -> Result<Option<BoundReport>, String> {
    let models: BTreeSet<u32> =
        found.iter().flat_map(|(_, round)| &round.parts).map(|part| part.model).collect();
    let mut sum: Option<BoundReport> = None;
    for model in models {
        let mut pieces: BTreeMap<&str, &Piece> = BTreeMap::new();
        let mut shares = HashSet::new();
        let mut share_count = None;
        let mut states: HashSet<[u8; 16]> = HashSet::new();
        for (file, round) in found {
            let Some(part) = round.parts.iter().find(|part| part.model == model) else {
                return Err(format!("{} has no model number {model}", file.path.display()));
            };
            if *share_count.get_or_insert(part.part.share_count) != part.part.share_count {
                return Err(format!("{} has made another plan", file.path.display()));
            }
            for piece in &part.part.pieces {
                if let Ownership::Share(number) = piece.of
                    && !shares.insert(number)
                {
                    return Err(format!(
                        "{} has done a piece that another one has done",
                        file.path.display()
                    ));
                }
                if pieces.insert(&piece.key, piece).is_some_and(|known| known != piece) {
                    return Err(format!(
                        "{} has seen something else in the same piece: the test depends on more than its schedule",
                        file.path.display()
                    ));
                }
            }
            states.extend(states_of(file, round, model)?);
        }
        if shares.len() != share_count.unwrap_or(0) as usize {
            return Err(format!("{} of {} pieces have been done", shares.len(), share_count.unwrap_or(0)));
        }
        let told = || found.iter().filter_map(|(_, round)| round.figures.as_ref());
        let seconds = told().map(|f| f.seconds).sum();
        let mut figures = BoundReport::new(bound);
        told().for_each(|told| figures.restrict_as(told));
        for piece in pieces.values() {
            figures.executions += piece.executions;
            figures.given_up += piece.given_up;
            figures.steps += piece.steps;
            figures.max_steps = figures.max_steps.max(piece.max_steps);
            figures.max_threads = figures.max_threads.max(piece.max_threads);
        }
        figures.states = states.len() as u64;
        figures.complete = true;
        figures.exhausted = pieces.values().all(|piece| !piece.cut);
        figures.seconds = if sum.is_none() { seconds } else { 0.0 };
        sum = Some(match sum {
            Some(sum) => add(sum, &figures),
            None => figures,
        });
    }
    Ok(sum)
}

/// The states that a shard has reached in a model.
fn states_of(file: &ShardFile, round: &ShardRound, model: u32) -> Result<Vec<[u8; 16]>, String> {
    let mut start = 0;
    for test in &file.result.tests {
        for other in &test.rounds {
            for part in &other.parts {
                let end = start + part.state_count as usize * 16;
                if std::ptr::eq(other, round) && part.model == model {
                    let bytes = file.states.get(start..end);
                    let bytes = bytes.ok_or_else(|| format!("{} lacks states", file.path.display()))?;
                    return Ok(bytes.as_chunks().0.to_vec());
                }
                start = end;
            }
        }
    }
    Ok(Vec::new())
}
