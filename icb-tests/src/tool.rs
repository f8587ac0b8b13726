//! `cargo icb` as tests run it: built once, without settings from the environment. Knows nothing of what it is run on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The tool, built in the target directory that the tests are built in. `temporary`: what cargo calls `CARGO_TARGET_TMPDIR`.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn built(temporary: &str) -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| {
        let target = target(temporary);
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "cargo-icb", "--target-dir"]).arg(&target);
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(built.is_ok_and(|status| status.success()), "cargo-icb could not be built");
        target.join("debug").join("cargo-icb").with_extension(std::env::consts::EXE_EXTENSION)
    })
}

/// The target directory that the tests are built in.
#[must_use]
pub fn target(temporary: &str) -> PathBuf {
    Path::new(temporary).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Where the tool that is tested keeps the mirrored std: not with what the user has.
#[must_use]
pub fn cache(temporary: &str) -> PathBuf {
    target(temporary).join("icb-cache")
}

/// A command that runs the tool.
#[must_use]
pub fn command(temporary: &str) -> Command {
    let mut command = Command::new(built(temporary));
    without_settings(&mut command);
    command.env("ICB_CACHE_DIR", cache(temporary));
    command
}

/// The words of a command line. An empty one would be a filter that means every test.
pub fn words(arguments: &str) -> impl Iterator<Item = &str> {
    arguments.split(' ').filter(|word| !word.is_empty())
}

/// The command sees no `ICB_*` variables of the tests' own environment, and prints no backtraces of std's beside the reports.
pub fn without_settings(command: &mut Command) {
    command.env_remove("RUST_BACKTRACE");
    for name in std::env::vars_os().map(|(name, _)| name) {
        if name.to_string_lossy().starts_with("ICB_") {
            command.env_remove(name);
        }
    }
}

/// Only one test of a target at a time runs the tool: builds wait for each other, and watchdogs for a processor.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
