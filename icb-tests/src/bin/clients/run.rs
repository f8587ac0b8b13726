//! Runs the tool on a package and understands what it says. Knows nothing of it but its command line, output and exit codes.

use super::package::Program;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cargo takes dependencies that this compiler is new enough for.
pub(crate) const RESOLVER: (&str, &str) = ("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback");

/// Where everything is made, and the tool.
pub(crate) struct Bench {
    /// `target/clients`.
    pub(crate) directory: PathBuf,
    tool: PathBuf,
}

impl Bench {
    /// Builds the tool.
    pub(crate) fn new() -> Result<Bench> {
        let executable = std::env::current_exe()?;
        let target = executable.ancestors().nth(2).unwrap_or(Path::new("target")).to_path_buf();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "cargo-icb", "--target-dir"]).arg(&target);
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        if !build.status()?.success() {
            return Err(Error::other("cargo-icb could not be built"));
        }
        let tool = target.join("debug").join("cargo-icb").with_extension(std::env::consts::EXE_EXTENSION);
        let directory = target.join("clients");
        std::fs::create_dir_all(&directory)?;
        Ok(Bench { directory, tool })
    }

    /// Makes a package of a program, and runs its tests.
    pub(crate) fn run(&self, name: &str, dependencies: &str, program: &Program, arguments: &str) -> Said {
        match program.lay_out(&self.directory.join("packages").join(name), name, dependencies) {
            Ok(manifest) => self.test(name, &manifest, arguments),
            Err(error) => Said { code: -1, text: error.to_string() },
        }
    }

    /// The version of a crate that a program was built with.
    pub(crate) fn version(&self, program: &str, name: &str) -> String {
        let lock = self.directory.join("packages").join(program).join("Cargo.lock");
        let lock = std::fs::read_to_string(lock).unwrap_or_default();
        let entry = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).map_or("", |(_, rest)| rest);
        entry.split('"').next().unwrap_or_default().to_owned()
    }

    /// Throws away what was built of programs and crates; the mirrored std stays.
    pub(crate) fn forget_builds(&self) {
        let built = self.directory.join("target").join("icb").join("zero");
        if let Err(error) = std::fs::remove_dir_all(&built) {
            eprintln!("cannot remove {}: {error}", built.display());
        }
    }

    /// Runs `cargo icb test`. Everything is built into one directory, so the mirrored std is built once.
    pub(crate) fn test(&self, name: &str, manifest: &Path, arguments: &str) -> Said {
        let mut command = Command::new(&self.tool);
        command.arg("test").arg("--manifest-path").arg(manifest);
        command.arg("--target-dir").arg(self.directory.join("target"));
        command.args(arguments.split_whitespace()).env("COLUMNS", "140");
        command.env(RESOLVER.0, RESOLVER.1).env("ICB_CACHE_DIR", self.directory.join("icb-cache"));
        // What cargo has set for this process is not meant for what it starts.
        command.env_remove("CARGO_MANIFEST_DIR").env_remove("RUSTC_BOOTSTRAP");
        let (code, text) = match command.output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
                (output.status.code().unwrap_or(-1), text.into_owned())
            }
            Err(error) => (-1, error.to_string()),
        };
        let log = self.directory.join(format!("{name}.log"));
        if let Err(error) = std::fs::write(&log, &text) {
            eprintln!("cannot write {}: {error}", log.display());
        }
        Said { code, text }
    }
}

/// What the tool has said.
#[derive(Default)]
pub(crate) struct Said {
    code: i32,
    /// All of it.
    pub(crate) text: String,
}

impl Said {
    /// The lines of the summary, without indentation.
    pub(crate) fn summary(&self) -> impl Iterator<Item = &str> {
        let summary = self.text.split_once("\nSummary\n").map_or("", |(_, rest)| rest);
        summary.split("────").next().unwrap_or_default().lines().map(str::trim)
    }

    /// The tests were explored, and everything that was asked for is proved.
    pub(crate) fn is_proved(&self) -> bool {
        self.code == 0 && self.executions() > 0 && !self.summary().any(|line| line.starts_with("run once"))
    }

    /// It failed with one bug, and not with the other.
    pub(crate) fn has_only(&self, one: &str, other: &str) -> bool {
        self.code == 1 && !one.is_empty() && self.text.contains(one) && !self.text.contains(other)
    }

    /// Packages that were compiled as they are.
    pub(crate) fn not_instrumented(&self) -> Vec<String> {
        let lines = self.text.lines().filter_map(|line| line.trim().strip_prefix("not instrumented "));
        lines.map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
    }

    /// Executions over all tests and bounds.
    pub(crate) fn executions(&self) -> u64 {
        let last = self.text.lines().rev().find_map(|line| line.split_once(" failed")).map_or("", |(_, l)| l);
        let words: Vec<&str> = last.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| word.starts_with("execution"));
        let number = at.and_then(|at| words.get(at.checked_sub(1)?)).map(|word| word.replace(',', ""));
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// How long they took.
    pub(crate) fn seconds(&self) -> f64 {
        let last = self.text.lines().rev().find_map(|line| line.split_once(" failed")).map_or("", |(_, l)| l);
        let time = last.rsplit_once(" in ").and_then(|(_, time)| time.split(' ').next());
        time.and_then(|time| time.parse().ok()).unwrap_or(f64::INFINITY)
    }

    /// At which bound the failure was found.
    pub(crate) fn failed_at_bound(&self) -> Option<u32> {
        let lines = self.text.lines().filter_map(|line| line.trim().strip_prefix("FAILED bound "));
        lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).min()
    }

    /// In words.
    pub(crate) fn result(&self) -> String {
        let words = |prefix: &str| {
            let line = self.summary().find_map(|line| line.strip_prefix(prefix));
            let text = line.map(|line| line.split_once(": ").map_or(line, |(_, text)| text));
            text.map(|text| text.chars().take(90).collect::<String>().replace('|', "/"))
        };
        let failed = words("FAILED ");
        match self.code {
            0 if self.is_proved() => "proved".to_owned(),
            0 => format!("run once: {}", words("run once ").unwrap_or_default()),
            3 => "not built".to_owned(),
            5 => words("incomplete ").unwrap_or_else(|| "incomplete".to_owned()),
            _ => failed.unwrap_or_else(|| format!("exit code {}", self.code)),
        }
    }
}
