//! The papers' figures: their data as tables, CSV and plots.

use super::benchmarks::PROGRAMS;
use icb_core::model::StateSearch;
use icb_core::trace::coverage::{
    Curve, error_words, estimates as estimates_of, power_words, theorem_1_log10, to_csv,
};
use icb_core::trace::plot::Plot;
use icb_std::model::{BoundReport, Builder, Reduction};
use icb_tests::models::transaction_manager::{Action, TransactionManager, Version};
use std::path::Path;

const BLUETOOTH: usize = 0;
const FILE_SYSTEM: usize = 1;
const QUEUE: usize = 2;
const APE: usize = 3;
const DRYAD: usize = 4;

/// A bound that no benchmark needs to be exhausted.
const ENOUGH: u32 = 40;

fn write(directory: &Path, name: &str, x: &str, y: &str, plot: &Plot, curves: &[Curve]) {
    for (extension, text) in [("csv", to_csv(x, y, curves)), ("svg", plot.to_svg(curves))] {
        let path = directory.join(name).with_extension(extension);
        std::fs::write(&path, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

/// The share of all states that is covered at each bound.
fn shares(name: &str, bounds: &[BoundReport]) -> Curve {
    let all = bounds.last().map_or(1, |bound| bound.states.max(1)) as f64;
    let points = bounds.iter().map(|bound| (f64::from(bound.bound), 100.0 * bound.states as f64 / all));
    Curve { name: name.to_owned(), points: points.collect() }
}

/// Figures 1 and 4.
pub(crate) fn by_bounds(directory: &Path) {
    let explore = |program: usize| {
        let report = Builder::new().max_bound(ENOUGH).spurious(false).explore(PROGRAMS[program].run);
        assert!(report.exhausted(), "{} is exhausted", PROGRAMS[program].name);
        let end = report.bounds.iter().position(|bound| bound.exhausted).unwrap_or(0);
        report.bounds[..=end].to_vec()
    };
    let model = TransactionManager { version: Version::Correct, action: Action::Commit, rounds: 2 };
    let theirs = ["4: all", "4: all", "8: 90 %, 11: all", "6: more than 90 %"];
    let mut curves = Vec::new();
    println!("| program | states | share at bounds 0, 1, 2, … | 90 % at | all at | theirs |");
    println!("|---|---:|---|---:|---:|---|");
    for (index, program) in [BLUETOOTH, FILE_SYSTEM, QUEUE, usize::MAX].into_iter().enumerate() {
        let (name, bounds) = match PROGRAMS.get(program) {
            Some(benchmark) => (benchmark.name, explore(program)),
            None => ("Transaction Manager (explicit states)", StateSearch::new(&model).run().bounds),
        };
        let curve = shares(name, &bounds);
        let at = |share| curve.points.iter().find(|point| point.1 >= share).map_or(0.0, |point| point.0);
        let list: Vec<String> = curve.points.iter().take(12).map(|point| format!("{:.0}", point.1)).collect();
        let states = bounds.last().map_or(0, |bound| bound.states);
        println!(
            "| {name} | {states} | {} | {} | {} | {} |",
            list.join(", "),
            at(90.0),
            at(100.0),
            theirs[index]
        );
        curves.push(curve);
    }
    let plot = Plot {
        title: "Figure 4: states covered by executions with at most c preemptions".to_owned(),
        x: "preemptions".to_owned(),
        y: "% of all states".to_owned(),
        ..Plot::default()
    };
    write(directory, "figure-4", "bound", "percent", &plot, &curves);
    let plot = Plot { title: "Figure 1: coverage of the work-stealing queue".to_owned(), ..plot };
    write(directory, "figure-1", "bound", "percent", &plot, &curves[2..3]);
    println!(
        "\nFor programs a state is a distinct terminal happens-before state, for the model a state. Bounds are smaller than theirs \
         where our programs have fewer steps; the shape is theirs: a few preemptions reach nearly everything. Their queue has 99 \
         steps and up to 35 preemptions."
    );
}

/// Coverage against executions for several strategies; `name+por` is a search with partial-order reduction.
fn growth(program: usize, strategies: &[&str], executions: u64) -> Vec<Curve> {
    let explore = |name: &&str| {
        let (plain, reduction) = match name.strip_suffix("+por") {
            Some(plain) => (plain, Reduction::PartialOrder),
            None => (*name, Reduction::None),
        };
        let strategy = plain.parse().unwrap_or_else(|error| panic!("{error}"));
        let report = Builder::new()
            .max_bound(ENOUGH)
            .spurious(false)
            .strategy(strategy)
            .reduction(reduction)
            .max_executions(executions)
            .explore(PROGRAMS[program].run);
        assert_eq!(report.failure, None, "{name} on {}", PROGRAMS[program].name);
        let mut curve = Curve::growth(name, &report.growth);
        // A search that is over stays where it is.
        if let Some(&(last, states)) = curve.points.last()
            && last < executions as f64
        {
            curve.points.push((executions as f64, states));
        }
        curve
    };
    strategies.iter().map(explore).collect()
}

fn growth_figure(
    directory: &Path,
    figure: u32,
    program: usize,
    strategies: &[&str],
    executions: u64,
) -> Vec<Curve> {
    let curves = growth(program, strategies, executions);
    println!("| executions |{}", strategies.iter().map(|name| format!(" {name} |")).collect::<String>());
    println!("|---:|{}", "---:|".repeat(strategies.len()));
    for tick in [10, 50, 100, 500, 1_000, 2_000, 5_000, 10_000].into_iter().filter(|&tick| tick <= executions)
    {
        let cells: String = curves.iter().map(|curve| format!(" {} |", curve.at(tick as f64))).collect();
        println!("| {tick} |{cells}");
    }
    let plot = Plot {
        title: format!("Figure {figure}: {}", PROGRAMS[program].name),
        x: "executions".to_owned(),
        y: "distinct terminal states".to_owned(),
        log_y: true,
        log_x: false,
    };
    write(directory, &format!("figure-{figure}"), "executions", "states", &plot, &curves);
    curves
}

fn verdict(curves: &[Curve], ours: usize, others: std::ops::Range<usize>, executions: f64) -> String {
    let states = curves[ours].at(executions);
    let list: Vec<String> =
        curves[others.clone()].iter().map(|c| format!("{} {}", c.name, c.at(executions))).collect();
    let ahead = curves[others].iter().all(|other| states > other.at(executions));
    let words = if ahead { "ahead of all of" } else { "not ahead of all of" };
    format!(
        "At {executions} executions {} has {states} states, {words}: {}.",
        curves[ours].name,
        list.join(", ")
    )
}

/// Figure 2.
pub(crate) fn figure_2(directory: &Path) {
    let strategies = ["icb+por", "icb", "dfs", "db:40", "db:20", "idfs", "random", "pct:3", "delay"];
    let curves = growth_figure(directory, 2, QUEUE, &strategies, 10_000);
    println!("\n{}", verdict(&curves, 0, 2..7, 1_000.0));
    println!("{}", verdict(&curves, 1, 2..7, 1_000.0));
    println!(
        "\nTheirs: icb ahead of random, dfs, db:40 and db:20 from the first hundred executions on, without reduction. They count \
         every state that is visited, we count terminal ones: an execution that differs from another only in the order of steps \
         that commute adds none, and a search with few preemptions runs many of those. With its reduction, which is what \
         `cargo icb test` does, icb runs about one of each."
    );
}

/// Figure 5.
pub(crate) fn figure_5(directory: &Path) {
    let strategies = ["icb+por", "icb", "dfs", "db:20", "db:40", "db:60", "idfs", "random"];
    let curves = growth_figure(directory, 5, APE, &strategies, 5_000);
    println!("\n{}\n{}", verdict(&curves, 0, 2..7, 1_000.0), verdict(&curves, 1, 2..7, 1_000.0));
    println!(
        "\nTheirs: icb ahead of dfs and of idfs with the depth bounds of largest, smallest and median coverage. {RANDOM}"
    );
}

/// Figure 6.
pub(crate) fn figure_6(directory: &Path) {
    let strategies = ["icb+por", "icb", "dfs", "db:20", "db:40", "db:60", "idfs", "random"];
    let curves = growth_figure(directory, 6, DRYAD, &strategies, 5_000);
    println!("\n{}\n{}", verdict(&curves, 0, 2..7, 1_000.0), verdict(&curves, 1, 2..7, 1_000.0));
    println!(
        "\nTheirs: icb ahead of dfs and of idfs with the depth bounds of largest, smallest and median coverage. {RANDOM}"
    );
}

const RANDOM: &str = "The random walk is not in their figure. In a program with so many more states than executions nearly every \
                      random execution ends in a new one, so it leads by this measure; what it has covered has no name, and no \
                      bound is ever claimed.";

/// Theorem 1 beside the executions of each bound, and the estimates.
pub(crate) fn estimates() {
    println!("Every execution run, without reduction; nk and nb as measured.\n");
    println!("| program | bound | executions | estimated before | off by | Theorem 1 |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (program, max_bound) in [(BLUETOOTH, 4), (FILE_SYSTEM, 4), (QUEUE, 4), (APE, 2)] {
        let report = Builder::new()
            .max_bound(max_bound)
            .spurious(false)
            .reduction(Reduction::None)
            .measured_executions(200)
            .explore(PROGRAMS[program].run);
        let most = |of: fn(&BoundReport) -> u64| report.bounds.iter().map(of).max().unwrap_or(0);
        let (steps, blocking) = (most(|bound| bound.max_steps), most(|bound| bound.max_blocking));
        for (bound, estimate) in report.bounds.iter().zip(estimates_of(&report.bounds)) {
            let theorem = theorem_1_log10(steps, blocking, bound.bound);
            let holds = (bound.executions.max(1) as f64).log10() <= theorem;
            assert!(holds, "Theorem 1 holds for {}", PROGRAMS[program].name);
            let words = estimate.map_or_else(
                || "- | -".to_owned(),
                |estimate| format!("{estimate:.0} | {}", error_words(estimate, bound.executions)),
            );
            println!(
                "| {} | {} | {} | {words} | {} |",
                PROGRAMS[program].name,
                bound.bound,
                bound.executions,
                power_words(theorem)
            );
        }
    }
}
