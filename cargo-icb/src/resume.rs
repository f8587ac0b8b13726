//! What has been proved of a test, on disk, so that an interrupted run can be gone on with: the bounds that hold, in the
//! test's work directory, where the journal of the bound at work is too.
//!
//! The file is written whole or not at all, with a checksum; one that is damaged is named and left as it is.

use crate::exit_code::Error;
use crate::settings::{Bound, Search};
use crate::worker::verdict::Verdict;
use icb_core::trace::{BoundReport, ShardPart};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A bound that holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Round {
    /// The bound.
    pub(crate) bound: u32,
    /// Last bound of the same process.
    pub(crate) max_bound: Bound,
    /// Figures.
    pub(crate) figures: Option<BoundReport>,
    /// How long it took.
    pub(crate) seconds: f64,
    /// That it holds.
    pub(crate) verdict: Verdict,
    /// What was done of each model, where it is one part of several, and the files of the states.
    #[serde(default, skip_serializing_if = "Parts::is_empty")]
    pub(crate) parts: Parts,
}

/// By model what was done of a bound, and the file of the states.
pub(crate) type Parts = BTreeMap<u32, (ShardPart, PathBuf)>;

/// What has been proved of a test.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rounds {
    /// What it belongs to: the executable and the settings.
    pub(crate) key: String,
    /// The bounds, lowest first.
    pub(crate) rounds: Vec<Round>,
    /// What was done of the bound after them before it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<Begun>,
}

/// A bound that was stopped and can be gone on with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// The bound.
    pub(crate) bound: u32,
    /// As far as it had come.
    pub(crate) figures: Option<BoundReport>,
    /// How long it was at work.
    pub(crate) seconds: f64,
}

impl Rounds {
    /// Nothing has been proved yet.
    pub(crate) fn begin(directory: &Path, key: String) -> Rounds {
        let rounds = Rounds { key, rounds: Vec::new(), begun: None };
        // Without the file nothing is gone on with.
        let _ = fs::create_dir_all(directory).and_then(|()| rounds.write(directory));
        rounds
    }

    /// Reads what an earlier run has left in the test's work directory. `None`: nothing, or it was another build, or with other
    /// settings.
    pub(crate) fn load(directory: &Path, key: &str) -> Result<Option<Rounds>, Error> {
        let path = file(directory);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(damaged(path, error.to_string())),
        };
        let (sum, content) = text.split_once('\n').unwrap_or_default();
        if sum != checksum(content.as_bytes()) {
            return Err(damaged(path, "its checksum does not match".to_owned()));
        }
        let read: Rounds = serde_json::from_str(content).map_err(|error| damaged(path, error.to_string()))?;
        Ok((read.key == key).then_some(read))
    }

    /// The round that begins with this bound.
    pub(crate) fn get(&self, bound: u32) -> Option<&Round> {
        self.rounds.iter().find(|round| round.bound == bound)
    }

    /// Adds a round, and writes all.
    pub(crate) fn add(&mut self, directory: &Path, round: Round) -> std::io::Result<()> {
        self.rounds.retain(|known| known.bound < round.bound);
        self.rounds.push(round);
        self.begun = None;
        self.write(directory)
    }

    /// Notes how far a bound has come that is stopped.
    pub(crate) fn stop(&mut self, directory: &Path, begun: Begun) {
        self.begun = Some(begun);
        // Without the file less time is shown when it is gone on with.
        let _ = self.write(directory);
    }

    /// How far the bound has come before.
    pub(crate) fn begun(&self, bound: u32) -> Option<&Begun> {
        self.begun.as_ref().filter(|begun| begun.bound == bound)
    }

    fn write(&self, directory: &Path) -> std::io::Result<()> {
        let content = serde_json::to_string(self)?;
        let mut new = tempfile::NamedTempFile::new_in(directory)?;
        write!(new, "{}\n{content}", checksum(content.as_bytes()))?;
        new.persist(file(directory))?;
        Ok(())
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join("rounds")
}

fn damaged(path: PathBuf, reason: String) -> Error {
    Error::DamagedProgress { path, reason }
}

/// Sixteen hexadecimal digits that differ where the bytes do.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

/// Identifies a test, the executable that it is in, and how it is searched; not when the search stops.
pub(crate) fn key(executable: &str, test: &str, search: &Search) -> String {
    let limits = [
        "ICB_MAX_EXECUTIONS",
        "ICB_MAX_SECONDS",
        "ICB_WATCHDOG_SECONDS",
        "ICB_SIMPLIFY_SECONDS",
        "ICB_EXPLAIN_SECONDS",
    ];
    let settings = search.environment().into_iter().filter(|(name, _)| !limits.contains(name));
    let settings: Vec<String> = settings.map(|(name, value)| format!("{name}={value}")).collect();
    let version = env!("CARGO_PKG_VERSION");
    checksum(format!("{version} {executable} {test} {}", settings.join(" ")).as_bytes())
}

/// Identifies an executable by its content.
pub(crate) fn executable_key(path: &Path) -> Result<String, Error> {
    let bytes =
        fs::read(path).map_err(|error| Error::internal(format!("cannot read {}", path.display()), error))?;
    Ok(checksum(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(bound: u32) -> Round {
        let verdict = Verdict::Holds { last: false, exhausted: false, expects_failure: false };
        Round {
            bound,
            max_bound: Bound::Limited(bound),
            figures: None,
            seconds: 1.5,
            verdict,
            parts: Parts::new(),
        }
    }

    #[test]
    fn rounds_come_back_and_damage_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Rounds::load(directory.path(), "a").unwrap(), None);
        let mut rounds = Rounds::begin(directory.path(), "a".to_owned());
        rounds.add(directory.path(), round(0)).unwrap();
        rounds.add(directory.path(), round(1)).unwrap();
        let read = Rounds::load(directory.path(), "a").unwrap().unwrap();
        assert_eq!((read.get(1), read.get(2)), (Some(&round(1)), None));
        let begun = Begun { bound: 2, figures: None, seconds: 2.0 };
        rounds.stop(directory.path(), begun.clone());
        let read = Rounds::load(directory.path(), "a").unwrap().unwrap();
        assert_eq!((read.begun(2), read.begun(1)), (Some(&begun), None));
        assert_eq!(Rounds::load(directory.path(), "b").unwrap(), None);
        let path = directory.path().join("rounds");
        let text = fs::read_to_string(&path).unwrap();
        for damage in [text.replace("1.5", "2.5"), text[..text.len() - 3].to_owned(), String::new()] {
            fs::write(&path, &damage).unwrap();
            let error = Rounds::load(directory.path(), "a").unwrap_err();
            assert!(error.to_string().contains("rounds is damaged"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damage);
        }
    }
}
