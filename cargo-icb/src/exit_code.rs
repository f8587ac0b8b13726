//! What `cargo icb` tells its caller: the exit codes, and the errors that lead to them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit codes. Scripts depend on them: never renumber one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Exit {
    /// Everything that was asked for was proved or passed.
    Passed = 0,
    /// A test failed, or a replay showed its failure.
    TestFailed = 1,
    /// The command line, or a setting, is wrong, something cannot be written, or a journal cannot be gone on with.
    Usage = 2,
    /// The tests could not be built.
    BuildFailed = 3,
    /// There are no tests, or none matches.
    NoTests = 4,
    /// Nothing failed, but something was cut short by a limit.
    Incomplete = 5,
    /// Something that is stored is missing or damaged, or there is nothing to compare a failure with.
    Stored = 6,
    /// `cargo icb` itself, or its understanding with the test process, is broken.
    Internal = 7,
    /// A replay did not match its schedule.
    Diverged = 8,
    /// Somebody has asked to stop; what was done can be gone on with.
    Interrupted = 9,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The end of every `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0  everything asked for was proved or passed
  1  a test failed, or a replay showed its failure
  2  the command line or a setting is wrong, what is told cannot be written, or a journal cannot be gone on with
  3  the tests could not be built
  4  there are no tests, or none matches
  5  nothing failed, but something was cut short by a limit
  6  something that is stored (a failure, a run, the result of a shard) is missing or damaged, or there is nothing to compare a failure with
  7  cargo-icb itself is broken, or the test was built with another version of icb-std
  8  a replay did not match its schedule (divergence)
  9  interrupted; `cargo icb test --resume` goes on";

/// Why a command could not do its work. Each message is one sentence: what, where, how to mend it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A wrong command line or setting.
    #[error("{0}")]
    Usage(String),
    /// Cargo could not build, and has said why.
    #[error("the tests could not be built; what cargo and rustc say is above")]
    Build,
    /// The mirrored library could not be built.
    #[error(
        "the mirrored std could not be built; what cargo and rustc say is above; if it is this toolchain that lacks something (cargo icb is tried with Rust 1.95), use another, or the opt-in way: let the crate depend on icb-std and call icb_std::model in its tests"
    )]
    Facade,
    /// Nothing to run.
    #[error("{0}")]
    NoTests(String),
    /// No stored failure of that name.
    #[error("{0}")]
    NotStored(String),
    /// A stored failure, trace or run that cannot be read.
    #[error("the stored {what} {path} is damaged: {reason}; {remedy}", path = .path.display())]
    Damaged {
        /// What it is.
        what: &'static str,
        /// What helps.
        remedy: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What an earlier run has left, and cannot be read.
    #[error("{path} is damaged: {reason}; remove it, or run without --resume", path = .path.display())]
    DamagedProgress {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Results of shards that are not whole, or do not belong together.
    #[error("{0}")]
    Shards(String),
    /// Something that should not happen.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// Something that should not happen, with what was being done.
    pub(crate) fn internal(doing: impl fmt::Display, error: impl fmt::Display) -> Error {
        Error::Internal(format!("{doing}: {error}"))
    }

    /// What is to be kept in the target directory cannot be.
    pub(crate) fn unwritable(path: &Path, error: impl fmt::Display) -> Error {
        Error::Usage(unwritable(path, error))
    }

    /// The exit code that the error leads to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Error::Usage(_) => Exit::Usage,
            Error::Build | Error::Facade => Exit::BuildFailed,
            Error::NoTests(_) => Exit::NoTests,
            Error::NotStored(_)
            | Error::Damaged { .. }
            | Error::DamagedProgress { .. }
            | Error::Shards(_) => Exit::Stored,
            Error::Internal(_) => Exit::Internal,
        }
    }
}

/// What is to be said of a file in the target directory that cannot be written.
pub(crate) fn unwritable(path: &Path, error: impl fmt::Display) -> String {
    format!(
        "cannot write {}: {error}; make room there, or name another directory with --target-dir",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_code() {
        let all = [
            Exit::Passed,
            Exit::TestFailed,
            Exit::Usage,
            Exit::BuildFailed,
            Exit::NoTests,
            Exit::Incomplete,
            Exit::Stored,
            Exit::Internal,
            Exit::Diverged,
            Exit::Interrupted,
        ];
        for (code, exit) in all.into_iter().enumerate() {
            assert_eq!(exit as usize, code);
            assert!(HELP.contains(&format!("\n  {code}  ")));
        }
        assert_eq!(HELP.lines().count(), all.len() + 1);
    }
}
