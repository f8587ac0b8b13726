//! What CI runs. `cargo run -p ci` runs everything, `cargo run -p ci -- tests tidy` only these parts.
//!
//! Each part prints what it runs and how long it took; the end is a summary, and a nonzero exit code if a part failed.
//! `steps` runs cargo, `tidy` checks what no compiler checks: the layers and the layout of the repository.

mod lanes;
mod layers;
mod package;
mod steps;
mod summary;
mod surface;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// One part of CI, or something that is asked for by name.
struct Part {
    name: &'static str,
    about: &'static str,
    run: fn(&Path) -> Result<String, String>,
}

/// The parts, cheapest first.
const PARTS: [Part; 7] = [
    Part { name: "tidy", about: "layers, names and layout of the repository", run: tidy::run },
    Part { name: "fmt", about: "cargo fmt --check", run: steps::fmt },
    Part { name: "clippy", about: "clippy, every target, warnings are errors", run: steps::clippy },
    Part { name: "clippy-icb", about: "the same with --cfg icb", run: steps::clippy_icb },
    Part { name: "doc", about: "documentation, warnings are errors", run: steps::doc },
    Part { name: "tests", about: "every test of the workspace", run: lanes::tests },
    Part {
        name: "instructions",
        about: "what a step takes, against the committed figures",
        run: steps::instructions,
    },
];

/// What is no part of CI.
const COMMANDS: [Part; 2] = [
    Part { name: "package", about: "make the packages to publish, and try them", run: package::package },
    Part { name: "surface", about: "write the tables of std's surface anew", run: surface::run },
];

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let [command] = &asked[..]
        && let Some(command) = COMMANDS.iter().find(|known| known.name == command)
    {
        return obey(command);
    }
    let unknown = asked.iter().find(|name| PARTS.iter().all(|part| part.name != name.as_str()));
    if let Some(name) = unknown {
        if !matches!(name.as_str(), "-h" | "--help") {
            eprintln!("error: there is no part `{name}`");
        }
        eprintln!("usage: cargo run -p ci [-- PART…]");
        for part in &PARTS {
            eprintln!("  {:<12}{}", part.name, part.about);
        }
        eprintln!("no part of CI:");
        for command in &COMMANDS {
            eprintln!("  {:<12}{}", command.name, command.about);
        }
        return ExitCode::from(2);
    }
    let root = repository();
    let mut results = Vec::new();
    for part in PARTS.iter().filter(|part| asked.is_empty() || asked.iter().any(|name| name == part.name)) {
        println!("==== {}: {}", part.name, part.about);
        let started = Instant::now();
        let result = (part.run)(&root);
        if let Err(message) = &result {
            println!("{message}");
        }
        results.push((part.name, result, started.elapsed()));
    }
    println!("\n==== summary");
    for (name, result, time) in &results {
        let (word, detail) = match result {
            Ok(detail) => ("ok", detail.as_str()),
            Err(message) => ("FAILED", message.lines().next().unwrap_or_default()),
        };
        println!("{word:>6}  {name:<12}{:>7.1} s  {detail}", time.as_secs_f64());
    }
    if results.iter().all(|(_, result, _)| result.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs what is no part of CI.
fn obey(command: &Part) -> ExitCode {
    match (command.run)(&repository()) {
        Ok(detail) => {
            println!("{detail}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository: cargo says where this crate is.
fn repository() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}
