//! The result of one shard of a run, as a file: what was done of each test at each bound, and the states that were reached.
//!
//! One line with the length and a checksum of the rest, one line of JSON, then the fingerprints of the states. A file is
//! written whole or not at all.

pub(crate) mod merge;

use crate::event::Finding;
use crate::exit_code::Error;
use crate::report::json::LeftOut;
use crate::resume::checksum;
use crate::settings::Bound;
use crate::worker::verdict::Verdict;
use icb_core::trace::{BoundReport, Shard, ShardPart};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How the files' names end.
pub(crate) const EXTENSION: &str = "icbshard";
/// How each begins.
pub(crate) const MAGIC: &str = "icb-shard 1";

/// Everything but the states.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ShardResult {
    /// Version of cargo-icb.
    pub(crate) version: String,
    /// Which part of the run.
    pub(crate) shard: Shard,
    /// The last bound.
    pub(crate) max_bound: Bound,
    /// Root of the workspace, where relative source paths start.
    pub(crate) root: String,
    /// Packages without which it proves what it proves.
    pub(crate) not_instrumented: Vec<LeftOut>,
    /// The tests.
    pub(crate) tests: Vec<ShardTest>,
}

/// What was done of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ShardTest {
    /// `PACKAGE::TARGET::TEST`.
    pub(crate) name: String,
    /// The executable and the settings.
    pub(crate) key: String,
    /// Its bounds, lowest first.
    pub(crate) rounds: Vec<ShardRound>,
}

/// What was done of a test at a bound.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ShardRound {
    /// First bound of the process.
    pub(crate) bound: u32,
    /// Last bound of the process.
    pub(crate) max_bound: Bound,
    /// How it went.
    pub(crate) verdict: Verdict,
    /// Figures of this shard.
    pub(crate) figures: Option<BoundReport>,
    /// How long it took.
    pub(crate) seconds: f64,
    /// A failure, explained.
    pub(crate) finding: Option<Finding>,
    /// Whether the test's package knows nothing of icb.
    pub(crate) unchanged: bool,
    /// The part of each model of the test.
    pub(crate) parts: Vec<ModelPart>,
}

/// What was done of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ModelPart {
    /// Number of the model.
    pub(crate) model: u32,
    /// The pieces.
    pub(crate) part: ShardPart,
    /// States that were reached.
    pub(crate) state_count: u64,
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct ShardFile {
    /// Where it was.
    pub(crate) path: PathBuf,
    /// What it says.
    pub(crate) result: ShardResult,
    /// States of all parts, in order.
    pub(crate) states: Vec<u8>,
}

/// The file's name.
pub(crate) fn file_name(shard: Shard) -> String {
    let name = format!("shard-{}-of-{}", shard.whole.0, shard.whole.1);
    let part =
        if shard.part.1 > 1 { format!("-part-{}-of-{}", shard.part.0, shard.part.1) } else { String::new() };
    format!("{name}{part}.{EXTENSION}")
}

/// Refuses a directory that no result can be written to: it is better known before the search than after it.
pub(crate) fn check_directory(directory: &Path) -> Result<(), Error> {
    let tried = std::fs::create_dir_all(directory).and_then(|()| tempfile::NamedTempFile::new_in(directory));
    tried.map(drop).map_err(|error| {
        let directory = directory.display();
        Error::Usage(format!(
            "cannot write the result of the shard to {directory}: {error}; name another directory with --shard-dir"
        ))
    })
}

/// Writes a result.
pub(crate) fn write(directory: &Path, result: &ShardResult, states: &[u8]) -> Result<PathBuf, Error> {
    let path = directory.join(file_name(result.shard));
    let doing = |error: std::io::Error| {
        Error::Usage(format!(
            "cannot write {}: {error}; make room there, or name another directory with --shard-dir, and run the shard again with --resume",
            path.display()
        ))
    };
    let mut content = serde_json::to_vec(result).map_err(|error| doing(error.into()))?;
    content.push(b'\n');
    content.extend_from_slice(states);
    std::fs::create_dir_all(directory).map_err(doing)?;
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(doing)?;
    let head = format!("{MAGIC} {} {}\n", checksum(&content), content.len());
    file.write_all(head.as_bytes()).and_then(|()| file.write_all(&content)).map_err(doing)?;
    file.persist(&path).map_err(|error| doing(error.error))?;
    Ok(path)
}

/// Reads a result.
pub(crate) fn read(path: &Path) -> Result<ShardFile, Error> {
    let wrong = |reason: &str| Error::Shards(format!("{} {reason}", path.display()));
    const AGAIN: &str = "copy it again, or run that shard again";
    const FOREIGN: &str = "is no result of a shard; take it away, or name another directory";
    let bytes = std::fs::read(path).map_err(|error| wrong(&format!("cannot be read: {error}; {AGAIN}")))?;
    let line_end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
    let head_end = line_end(&bytes)
        .ok_or_else(|| wrong(&format!("is no result of a shard, or was cut off; {AGAIN}")))?;
    let head = String::from_utf8_lossy(&bytes[..head_end]);
    let words = head.strip_prefix(MAGIC).map(|rest| rest.split_whitespace().collect::<Vec<_>>());
    let Some([sum, length]) = words.as_deref() else { return Err(wrong(FOREIGN)) };
    let content = &bytes[head_end + 1..];
    match length.parse::<usize>() {
        Ok(length) if content.len() < length => {
            return Err(wrong(&format!("is truncated; {AGAIN}")));
        }
        Ok(length) if content.len() == length && checksum(content) == *sum => {}
        _ => {
            return Err(wrong(&format!("is damaged: its checksum does not match; {AGAIN}")));
        }
    }
    let json_end = line_end(content).ok_or_else(|| wrong(FOREIGN))?;
    let result: ShardResult = serde_json::from_slice(&content[..json_end]).map_err(|error| {
        wrong(&format!(
            "was written by another version of cargo-icb ({error}); run that shard again with this one"
        ))
    })?;
    Ok(ShardFile { path: path.to_owned(), result, states: content[json_end + 1..].to_vec() })
}
