//! A line for people beside what a run tells: hints, warnings and errors. It goes to the standard error.

use std::fmt::Display;
use std::io::Write;

/// Writes a line. That nobody reads it, or that the disk is full, is no reason to stop: the exit code still tells.
pub(crate) fn say(line: impl Display) {
    // One call of the system: lines of several compilers are not to be mixed.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
