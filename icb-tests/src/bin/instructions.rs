//! Counts the instructions of the step path and compares them with those that are committed:
//! `cargo run --release -p icb-tests --bin instructions`.
//!
//! Exit code 0: none takes more than 10 % more than the committed figure; 1: one does; 2: they cannot be counted, or the
//! file with the figures is not readable. `--write` writes the figures anew: do that in a commit that says why they changed.

use icb_tests::instructions::{CASES, child, measure};
use std::path::Path;
use std::process::ExitCode;

/// More than this much above the committed figure is a failure.
const ALLOWED: f64 = 1.10;

const HEADER: &str = "# Instructions of an execution by callgrind (x86-64, the toolchain of rust-toolchain or newer stable, release).\n\
                      # Written by: cargo run --release -p icb-tests --bin instructions -- --write\n";

/// The figures of the file, by name.
fn committed(text: &str) -> Option<Vec<(&str, f64)>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| line.rsplit_once(": ").and_then(|(name, figure)| Some((name, figure.parse().ok()?))))
        .collect()
}

fn main() -> ExitCode {
    if child() {
        return ExitCode::SUCCESS;
    }
    let write = std::env::args().any(|argument| argument == "--write");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let Some(before) = committed(&text) else {
        eprintln!(
            "error: {} has a line that is not `NAME: NUMBER`; write it anew with --write",
            path.display()
        );
        return ExitCode::from(2);
    };
    let mut lines = String::from(HEADER);
    let mut exceeded = false;
    println!("| case | instructions of an execution | of a step | committed | |\n|---|---:|---:|---:|---:|");
    for (index, case) in CASES.iter().enumerate() {
        let figures = match measure(index) {
            Ok(figures) => figures,
            Err(message) => {
                eprintln!("error: {message}");
                return ExitCode::from(2);
            }
        };
        let known = before.iter().find(|(name, _)| *name == case.name).map(|(_, figure)| *figure);
        let change = known.map(|known| figures.per_execution / known);
        exceeded |= change.is_none_or(|change| change > ALLOWED);
        println!(
            "| {} | {:.0} | {:.0} | {} | {} |",
            case.name,
            figures.per_execution,
            figures.per_step,
            known.map_or_else(|| "none".to_owned(), |known| format!("{known:.0}")),
            change.map_or_else(String::new, |change| format!("{:+.1} %", (change - 1.0) * 100.0))
        );
        lines.push_str(&format!("{}: {:.0}\n", case.name, figures.per_execution));
    }
    if write {
        if let Err(error) = std::fs::write(&path, lines) {
            eprintln!("error: cannot write {}: {error}", path.display());
            return ExitCode::from(2);
        }
        println!("\nwritten to {}", path.display());
        return ExitCode::SUCCESS;
    }
    if exceeded {
        eprintln!(
            "error: more than {:.0} % more instructions than committed (or no figure); mend that, or write the figures anew \
             with --write and say why",
            (ALLOWED - 1.0) * 100.0
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
