//! icb against loom and shuttle, on the same programs in the same run: `cargo bench -p icb-tests --bench compare`.
//!
//! One thread, CPU time, median over repetitions in which the three take turns. Each exhausts bound 3 (less where executions
//! are long, see `measure.rs`): loom with `preemption_bound`, shuttle with a bounded depth-first search plugged in
//! (`naive.rs`), icb with bounds 0 to 3. loom reduces and explores stale values of atomics, the others do not: executions are
//! comparable in what one costs, not in what it stands for. shuttle's vector clocks are off, its default, so it detects no
//! races; loom and icb do. A step is a visible operation of the program's text; icb's own count has also the first step of
//! each thread, the data accesses and the lock after a wait. Memory is the largest resident set of a process that does
//! nothing else.
//!
//! Arguments: `--quick` (fewer repetitions), and names of programs (parts of) to run only those. `--profile PROGRAM`, or
//! `--profile PROGRAM reduced`, runs icb alone on one program for five seconds, for a profiler.

#[macro_use]
mod world;

mod measure;
mod naive;
mod programs;
mod tables;
mod tools;

use icb_tests::usage::cpu_time;
use measure::{last_bound, measure};
use programs::in_icb;
use tools::Icb;

/// Every library installs a panic hook on top of what it finds, once. loom unwinds each of its threads, so the hook
/// that ignores that must be on top: else the others' hooks, at worst printing, would count against loom.
fn install_panic_hooks() {
    tools::shuttle(|| (), 0, 1);
    Icb::new(|| ()).run(0, 1);
    tools::loom(|| (), Some(0), 1);
}

/// icb on one program for a while, with its reduction or without.
fn profile(name: &str, reduced: bool) {
    let (_, program) = in_icb::PROGRAMS.into_iter().find(|(n, _)| *n == name).expect("the name of a program");
    let mut icb = Icb::new(program);
    let (mut executions, began) = (0, cpu_time());
    while cpu_time() - began < 5.0 {
        executions += match reduced {
            true => icb.run_reduced(Some(last_bound(name)), 1).0,
            false => *icb.run(last_bound(name), 1).executions.last().expect("a bound"),
        };
    }
    println!("{name}: {:.0} executions/s", executions as f64 / (cpu_time() - began));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<&str>>()[..] {
        ["--memory", tool, program] => return measure::report_memory(tool, program),
        ["--profile", program] => return profile(program, false),
        ["--profile", program, "reduced"] => return profile(program, true),
        _ => {}
    }
    if !arguments.iter().any(|a| a == "--bench") {
        return; // `cargo test --all-targets` only wants to see it compile.
    }
    let quick = arguments.iter().any(|a| a == "--quick");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    install_panic_hooks();
    let mut rows = Vec::new();
    for (index, (name, _)) in in_icb::PROGRAMS.iter().enumerate() {
        if names.is_empty() || names.iter().any(|part| name.contains(part.as_str())) {
            eprintln!("{name}");
            rows.push(measure(index, if quick { 1 } else { 7 }));
        }
    }
    tables::print_suite(&rows);
    tables::print_unbounded(&rows);
    tables::print_short(&rows);
}
