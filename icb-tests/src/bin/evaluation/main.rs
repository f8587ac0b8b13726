//! The tables and figures of the papers, ours beside theirs: `cargo run -p icb-tests --release --bin evaluation`. Writes the data
//! of the figures as CSV and SVG into `target/evaluation`, or into the directory that is named.
//!
//! The papers: Musuvathi and Qadeer, *Iterative Context Bounding for Systematic Testing of Multithreaded Programs*, PLDI 2007
//! (Tables 1 and 2, Figures 1, 2, 4, 5, 6); the same, *Partial-Order Reduction for Context-Bounded State Exploration*,
//! MSR-TR-2007-12 (Table 1). Their benchmarks are not published but for two; what stands in for them here is in `programs` and
//! `models`, so numbers differ, and what is compared is their shape.

mod benchmarks;
mod figures;
mod states;
mod tables;

use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).take(2).collect();
    if let [states::MEMORY, storage] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return states::memory(storage);
    }
    let directory =
        std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/evaluation"), PathBuf::from);
    std::fs::create_dir_all(&directory)
        .unwrap_or_else(|error| panic!("cannot make the directory {}: {error}", directory.display()));
    let began = Instant::now();
    let part = |title: &str, show: &dyn Fn()| {
        let part_began = Instant::now();
        println!("\n## {title}\n");
        show();
        println!("\n({:.1} s)", part_began.elapsed().as_secs_f64());
    };
    println!("# The papers' evaluation, ours beside theirs");
    part("Table 1: characteristics of the benchmarks", &tables::characteristics);
    part("Table 2: bugs exposed with exactly c preemptions", &tables::bugs);
    part("MSR-TR-2007-12, Table 1: executions of the work-stealing queue", &tables::reduction);
    part("Figures 1 and 4: states covered by bounds", &|| figures::by_bounds(&directory));
    part("Figure 2: states against executions, work-stealing queue", &|| figures::figure_2(&directory));
    part("Figure 5: states against executions, APE", &|| figures::figure_5(&directory));
    part("Figure 6: states against executions, Dryad channels", &|| figures::figure_6(&directory));
    part("Theorem 1 and what the next bound takes", &figures::estimates);
    part("Explicit states: coverage against a plain search, memory", &states::explicit);
    println!("\nAll in {:.0} s; data and plots in {}", began.elapsed().as_secs_f64(), directory.display());
}
