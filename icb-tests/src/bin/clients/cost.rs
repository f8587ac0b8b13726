//! What checking every access costs: the same programs with `--accesses` and without, built from nothing and explored by
//! the same granularity. Times vary with what else the machine does; each is the best of a few, taken in turns.

use super::package::Program;
use super::run::{Bench, Said};
use std::time::Instant;

/// Explorations of each kind.
const ROUNDS: usize = 3;
/// Explorations shorter than this say nothing, in seconds.
const SHORTEST: f64 = 0.1;
/// How much slower exploring and building may become.
const LIMITS: (f64, f64) = (3.0, 2.0);
const EXPLORE: &str = "--max-bound 6 --max-executions 20000 --max-time 20s";

/// The table. Good if both are within their limits, in the geometric mean for exploring and in sum for building.
pub(crate) fn table(bench: &Bench, wanted: impl Fn(&str) -> bool) -> bool {
    println!("| crate | executions | without, s | with, s | ratio | built without, s | with, s | ratio |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let mut logarithms = Vec::new();
    let mut built = [0.0, 0.0];
    for program in Program::all("clients").into_iter().filter(|program| wanted(&program.name)) {
        let run = |accesses: bool, arguments: &str| {
            let name = format!("{}-cost", program.name);
            let accesses = if accesses { "--accesses" } else { "--no-accesses" };
            bench.run(&name, &program.crates[0], &program, &format!("{accesses} {arguments}"))
        };
        // What is common to all programs, and what cargo has to fetch.
        run(false, "--max-bound 0");
        let build = [false, true].map(|accesses| {
            bench.forget_builds();
            let start = Instant::now();
            run(accesses, "--max-bound 0");
            start.elapsed().as_secs_f64()
        });
        let mut best = [f64::INFINITY; 2];
        let mut executions = [0, 0];
        for _ in 0..ROUNDS {
            for accesses in [false, true] {
                let said: Said = run(accesses, EXPLORE);
                let index = usize::from(accesses);
                best[index] = best[index].min(said.seconds());
                executions[index] = said.executions();
            }
        }
        let each = |index: usize| best[index] / executions[index].max(1) as f64;
        let ratio = each(1) / each(0);
        let counts = best[0] >= SHORTEST && ratio.is_finite();
        if counts {
            logarithms.push(ratio.ln());
        }
        built = [built[0] + build[0], built[1] + build[1]];
        println!(
            "| {} | {} | {:.2} | {:.2} | {} | {:.1} | {:.1} | {:.2} |",
            program.subject(0).0,
            executions[1],
            best[0],
            best[1],
            if counts { format!("{ratio:.2}") } else { "too short".to_owned() },
            build[0],
            build[1],
            build[1] / build[0]
        );
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp();
    let building = built[1] / built[0];
    println!(
        "\nexploring: {mean:.2} times the time ({} programs); building: {building:.2} times",
        logarithms.len()
    );
    mean <= LIMITS.0 && building <= LIMITS.1
}
