//! `cargo icb test` on published crates, straight from the registry, their source untouched. Needs the network and some
//! minutes, so CI does not run it.
//!
//! ```text
//! cargo run -p icb-tests --bin clients              two or three threads through the public API, bound 2, plain memory left out
//! cargo run -p icb-tests --bin clients bugs         published bugs: the version that has one, and a later one
//! cargo run -p icb-tests --bin clients accesses     the programs of the first line, every access to plain memory checked, bound 1
//! cargo run -p icb-tests --bin clients cost         the same with every access checked and without: time to build and to explore
//! cargo run -p icb-tests --bin clients own          the crates' own unit tests
//! cargo run -p icb-tests --bin clients loom         the crates' own tests for loom, beside loom itself
//! cargo run -p icb-tests --bin clients shuttle      the crates' own tests for shuttle, beside shuttle itself
//! cargo run -p icb-tests --bin clients bugs spin    only what has this in its name
//! ```
//!
//! The programs are in `icb-tests/clients` and `icb-tests/known-bugs`; each says at its top which crate it needs. What
//! the tool has said stands in `target/clients/*.log`. Ends with an error if something is not as it should be.

mod cost;
mod own;
mod package;
mod run;

use package::Program;
use run::{Bench, Said};
use std::process::ExitCode;

/// Rows of the first table that have to work.
const MIN_WORKING: usize = 18;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, names) = match arguments.split_first() {
        Some((command, names))
            if ["clients", "accesses", "bugs", "cost", "loom", "own", "shuttle"]
                .contains(&command.as_str()) =>
        {
            (command.as_str(), names)
        }
        _ => ("clients", arguments.as_slice()),
    };
    let wanted = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let good = match command {
        "bugs" => bugs(&bench, wanted),
        "cost" => cost::table(&bench, wanted),
        "loom" => own::table(&bench, &own::LOOM_TESTS, wanted),
        "shuttle" => own::table(&bench, &own::SHUTTLE_TESTS, wanted),
        "own" => own::table(&bench, &own::UNIT_TESTS, wanted),
        "accesses" => clients(&bench, wanted, "--accesses --max-bound 1 --max-test-time 60s"),
        _ => clients(&bench, wanted, "--no-accesses --max-bound 2 --max-test-time 60s"),
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn clients(bench: &Bench, wanted: impl Fn(&str) -> bool, arguments: &str) -> bool {
    println!("| crate | not instrumented | executions | result |\n|---|---|---:|---|");
    let mut counts = (0, 0);
    for program in Program::all("clients").into_iter().filter(|program| wanted(&program.name)) {
        let said = bench.run(&program.name, &program.crates[0], &program, arguments);
        counts.0 += 1;
        counts.1 += usize::from(said.is_proved());
        println!(
            "| {} {} | {} | {} | {} |",
            program.subject(0).0,
            bench.version(&program.name, program.subject(0).0),
            said.not_instrumented().join(", "),
            said.executions(),
            said.result()
        );
    }
    println!("\n{} of {} work", counts.1, counts.0);
    counts.1 >= MIN_WORKING.min(counts.0)
}

fn bugs(bench: &Bench, wanted: impl Fn(&str) -> bool) -> bool {
    println!("| crate | bug | preemptions | executions | mended | to bound | executions | |");
    println!("|---|---|---:|---:|---|---:|---:|---|");
    let mut good = true;
    for program in Program::all("known-bugs").into_iter().filter(|program| wanted(&program.name)) {
        let name = |which: &str| format!("{}-{which}", program.name);
        let arguments = |bound: u32| format!("--max-bound {bound} --max-test-time 60s {}", program.options);
        let buggy = bench.run(&name("buggy"), &program.crates[0], &program, &arguments(3));
        let bound = buggy.failed_at_bound();
        let later = program.crates.get(1);
        let mended = bound.zip(later).map_or_else(Said::default, |(bound, later)| {
            bench.run(&name("mended"), later, &program, &arguments(bound.max(1)))
        });
        let is_found = bound.is_some() && buggy.text.contains(&program.expected);
        let verdict = match (is_found, later) {
            (true, None) => "as told; there is no later version without it",
            (true, Some(_)) if mended.is_proved() => "as told",
            (true, Some(_)) if mended.has_only(&program.left, &program.expected) => {
                "as told; another bug is left"
            }
            _ => "**not as told**",
        };
        good &= !verdict.starts_with('*');
        println!(
            "| {} {} | {} | {} | {} | {} | {} | {} | {} |",
            program.subject(0).0,
            program.subject(0).1,
            buggy.result(),
            bound.map_or_else(String::new, |bound| bound.to_string()),
            buggy.executions(),
            program.subject(1).1,
            if later.is_some() { mended.result() } else { String::new() },
            mended.executions(),
            verdict,
        );
    }
    good
}
