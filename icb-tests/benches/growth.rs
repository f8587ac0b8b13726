//! How the cost of a search grows with steps, threads and bound, beside Theorem 1 of the paper (Musuvathi and Qadeer, PLDI
//! 2007, §2): `cargo bench -p icb-tests --bench growth`. Tables on standard output, plots as SVG and their data as CSV in
//! `target/growth`.
//!
//! Theorem 1 bounds the executions with c preemptions by C(nk, c) · (nb + c)!; here nk and nb are measured. Executions are
//! those with exactly c preemptions without a reduction, and with at most c under the partial-order reduction.

use icb_core::trace::BoundReport;
use icb_core::trace::coverage::{Curve, power_words, theorem_1_log10, to_csv};
use icb_core::trace::plot::Plot;
use icb_std::model::{Builder, Reduction};
use icb_tests::programs::baselines::{counter_racy, mutex_counter};
use std::path::{Path, PathBuf};

/// One point of a sweep: what varies, and the program under its bound.
struct Point {
    x: u64,
    bound: u32,
    program: fn(u64),
    /// What the program is given.
    size: u64,
}

struct Sweep {
    name: &'static str,
    about: &'static str,
    x: &'static str,
    log_x: bool,
    points: Vec<Point>,
}

fn sweeps() -> Vec<Sweep> {
    let steps =
        |bound| move |&k: &u64| Point { x: k, bound, program: |k| counter_racy(2, k as usize), size: k };
    let threads = |&n: &u64| Point { x: n, bound: 1, program: |n| mutex_counter(n as usize, 1), size: n };
    let bounds =
        |c: u32| Point { x: u64::from(c), bound: c, program: |k| counter_racy(2, k as usize), size: 5 };
    vec![
        Sweep {
            name: "steps-1",
            about: "two threads that load and store a counter k times each, exactly 1 preemption",
            x: "k",
            log_x: true,
            points: [2, 4, 8, 16, 32, 64, 128].iter().map(steps(1)).collect(),
        },
        Sweep {
            name: "steps-2",
            about: "the same, exactly 2 preemptions",
            x: "k",
            log_x: true,
            points: [2, 4, 8, 16, 32].iter().map(steps(2)).collect(),
        },
        Sweep {
            name: "threads",
            about: "n threads that lock and unlock a mutex once, exactly 1 preemption",
            x: "n",
            log_x: false,
            points: [2, 3, 4, 5].iter().map(threads).collect(),
        },
        Sweep {
            name: "bound",
            about: "two threads that load and store a counter 5 times each, exactly c preemptions",
            x: "c",
            log_x: false,
            points: (0..=6).map(bounds).collect(),
        },
    ]
}

/// The last bound's report.
fn last(point: &Point, reduction: Reduction) -> BoundReport {
    let (program, size) = (point.program, point.size);
    let report = Builder::new()
        .max_bound(point.bound)
        .spurious(false)
        .reduction(reduction)
        .measured_executions(200)
        .explore(move || program(size));
    report.bounds.into_iter().find(|bound| bound.bound == point.bound).unwrap_or_default()
}

fn run(sweep: &Sweep, directory: &Path) {
    println!("\n## {}\n", sweep.about);
    println!(
        "| {} | steps (nk) | blocking (nb) | executions | Theorem 1 | seconds | ns/step | reduced: executions | seconds | ns/step |",
        sweep.x
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let names = ["executions", "Theorem 1", "executions, reduced"];
    let mut curves = names.map(|name| Curve { name: name.to_owned(), points: Vec::new() });
    for point in &sweep.points {
        let (plain, reduced) = (last(point, Reduction::None), last(point, Reduction::PartialOrder));
        let theorem = theorem_1_log10(plain.max_steps, plain.max_blocking, point.bound);
        assert!((plain.executions.max(1) as f64).log10() <= theorem, "Theorem 1 holds");
        let per_step = |bound: &BoundReport| bound.seconds * 1e9 / bound.steps.max(1) as f64;
        println!(
            "| {} | {} | {} | {} | {} | {:.4} | {:.0} | {} | {:.4} | {:.0} |",
            point.x,
            plain.max_steps,
            plain.max_blocking,
            plain.executions,
            power_words(theorem),
            plain.seconds,
            per_step(&plain),
            reduced.executions,
            reduced.seconds,
            per_step(&reduced)
        );
        let values = [plain.executions as f64, 10f64.powf(theorem), reduced.executions as f64];
        for (curve, value) in curves.iter_mut().zip(values) {
            curve.points.push((point.x as f64, value));
        }
    }
    let plot = Plot {
        title: sweep.about.to_owned(),
        x: sweep.x.to_owned(),
        y: "executions".to_owned(),
        log_y: true,
        log_x: sweep.log_x,
    };
    for (extension, text) in [("csv", to_csv(sweep.x, "executions", &curves)), ("svg", plot.to_svg(&curves))]
    {
        let path = directory.join(sweep.name).with_extension(extension);
        std::fs::write(&path, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

fn main() {
    if !std::env::args().any(|a| a == "--bench") {
        return; // `cargo test --all-targets` only wants to see it compile.
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target")), PathBuf::from);
    let directory = target.join("growth");
    std::fs::create_dir_all(&directory)
        .unwrap_or_else(|error| panic!("cannot make the directory {}: {error}", directory.display()));
    for sweep in sweeps() {
        run(&sweep, &directory);
    }
    println!("\nplots: {}", directory.display());
}
