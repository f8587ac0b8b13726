//! The parts that run cargo, but for the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `cargo fmt --check`.
pub(crate) fn fmt(root: &Path) -> Result<String, String> {
    run(cargo(root, &["fmt", "--all", "--check"]))
}

/// Clippy, as users compile the workspace.
pub(crate) fn clippy(root: &Path) -> Result<String, String> {
    run(cargo(root, &CLIPPY))
}

/// Clippy with the mirrored library. Other flags would make cargo compile everything anew each time, so this build
/// has a target directory of its own.
pub(crate) fn clippy_icb(root: &Path) -> Result<String, String> {
    let mut command = cargo(root, &CLIPPY);
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags} --cfg icb").trim_start());
    command.env("CARGO_TARGET_DIR", target(root).join("ci-icb"));
    run(command)
}

const CLIPPY: [&str; 8] =
    ["clippy", "--quiet", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"];

/// The documentation.
pub(crate) fn doc(root: &Path) -> Result<String, String> {
    let mut command = cargo(root, &["doc", "--quiet", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    run(command)
}

/// Instructions of the step path, counted by valgrind, where it is installed, and on the kind of machine that the committed
/// figures are for.
pub(crate) fn instructions(root: &Path) -> Result<String, String> {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !cfg!(target_arch = "x86_64") || !valgrind.is_ok_and(|status| status.success()) {
        return Ok("not counted: that takes valgrind, and x86-64".to_owned());
    }
    run(cargo(root, &["run", "--quiet", "--release", "-p", "icb-tests", "--bin", "instructions"]))
}

/// Where cargo puts what it makes.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |directory| root.join(directory))
}

pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root);
    // What `cargo run` has set for this process is not meant for what it starts: it would count as a change.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text.starts_with("ICB_") {
            command.env_remove(&name);
        }
    }
    command
}

pub(crate) fn run(mut command: Command) -> Result<String, String> {
    let status = command.status().map_err(|error| cannot_run(&error))?;
    if status.success() { Ok(String::new()) } else { Err(format!("cargo says why above ({status})")) }
}

pub(crate) fn cannot_run(error: &std::io::Error) -> String {
    format!("cannot run cargo: {error}")
}
