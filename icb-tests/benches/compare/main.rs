//! icb against loom and shuttle, on the same programs in the same run: `cargo bench -p icb-tests --bench compare`.
//!
//! One thread, CPU time, median over repetitions in which the three take turns. Each exhausts bound 3: loom with
//! `preemption_bound`, shuttle with a bounded depth-first search plugged in (`naive.rs`), icb with bounds 0 to 3. loom
//! reduces and explores stale values of atomics, the others do not: executions are comparable in what one costs, not
//! in what it stands for. shuttle's vector clocks are off, its default, so it detects no races; loom and icb do.
//! A step is a visible operation of the program's text; icb's own count, in brackets, has also the first step of each
//! thread, the data accesses and the lock after a wait.
//!
//! Arguments: `--quick` (fewer repetitions), and names of programs (parts of) to run only those. `--profile PROGRAM` runs
//! icb alone on one program for five seconds, for a profiler.

mod naive;
mod programs;
mod tools;

use programs::{
    Entry, in_icb, in_icb_counted, in_loom, in_loom_counted, in_shuttle, in_shuttle_counted, take_steps,
};
use std::time::Duration;
use tools::{Icb, IcbCounts};

const BOUND: u32 = 3;
/// A sample runs as many rounds as take about this long.
const SAMPLE: f64 = 0.04;
/// No further repetition of a program is begun after so much time.
const PER_PROGRAM: f64 = 14.0;
/// Executions of shuttle's own search.
const DEPTH_FIRST: usize = 10_000;

/// CPU time of this thread, in seconds.
fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` of this frame.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_secs_f64()
}

fn timed<R>(f: impl FnOnce() -> R) -> (R, f64) {
    let before = cpu_time();
    let result = f();
    (result, cpu_time() - before)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// One tool on one program.
#[derive(Default)]
struct Result {
    /// Executions to exhaust each bound.
    executions: Vec<u64>,
    /// Visible operations of the text in an execution under the last bound, on average.
    steps: f64,
    /// Seconds to exhaust the last bound, one a repetition.
    seconds: Vec<f64>,
    rounds: u64,
}

impl Result {
    /// Runs each bound once in the counting copy, which also shows how many rounds a sample needs.
    fn count(mut run: impl FnMut(u32) -> u64) -> Self {
        let mut result = Result::default();
        for bound in 0..=BOUND {
            take_steps();
            let (executions, seconds) = timed(|| run(bound));
            result.executions.push(executions);
            result.steps = take_steps() as f64 / executions as f64;
            result.rounds = (SAMPLE / seconds).ceil() as u64;
        }
        result
    }

    fn total(&self) -> u64 {
        self.executions[BOUND as usize]
    }

    fn sample(&mut self, run: impl FnOnce(u64) -> u64) {
        let (executions, seconds) = timed(|| run(self.rounds));
        assert_eq!(executions, self.total(), "an exploration is a pure function");
        self.seconds.push(seconds / self.rounds as f64);
    }

    fn second(&self) -> f64 {
        median(&mut self.seconds.clone())
    }

    fn rate(&self) -> f64 {
        self.total() as f64 / self.second()
    }

    fn ns_per_step(&self) -> f64 {
        1e9 / (self.rate() * self.steps)
    }
}

struct Row {
    name: &'static str,
    loom: Result,
    shuttle: Result,
    icb: Result,
    /// icb with its reduction.
    reduced: Result,
    /// Distinct terminal states.
    states: u64,
    /// Steps of an execution by icb's own count.
    icb_steps: f64,
    depth_first_rate: f64,
}

fn measure(index: usize, repetitions: usize) -> Row {
    let (name, loom_program): Entry = in_loom::PROGRAMS[index];
    let (_, shuttle_program) = in_shuttle::PROGRAMS[index];
    let (_, loom_counted) = in_loom_counted::PROGRAMS[index];
    let (_, shuttle_counted) = in_shuttle_counted::PROGRAMS[index];
    let mut icb_program = Icb::new(in_icb::PROGRAMS[index].1);
    let mut icb_counted = Icb::new(in_icb_counted::PROGRAMS[index].1);

    let began = cpu_time();
    let mut counts = IcbCounts::default();
    let mut row = Row {
        name,
        loom: Result::count(|bound| tools::loom(loom_counted, bound, 1)),
        shuttle: Result::count(|bound| tools::shuttle(shuttle_counted, bound, 1)),
        icb: Result::count(|bound| {
            counts = icb_counted.run(bound, 1);
            *counts.executions.last().expect("a bound")
        }),
        reduced: Result::count(|bound| icb_counted.run_reduced(bound, 1).0),
        states: 0,
        icb_steps: 0.0,
        depth_first_rate: 0.0,
    };
    row.states = counts.states;
    row.icb_steps = counts.steps as f64 / row.icb.total() as f64;
    for _ in 0..repetitions {
        row.loom.sample(|rounds| tools::loom(loom_program, BOUND, rounds));
        row.shuttle.sample(|rounds| tools::shuttle(shuttle_program, BOUND, rounds));
        row.icb.sample(|rounds| *icb_program.run(BOUND, rounds).executions.last().expect("a bound"));
        row.reduced.sample(|rounds| icb_program.run_reduced(BOUND, rounds).0);
        if cpu_time() - began > PER_PROGRAM {
            break;
        }
    }
    let (executions, seconds) = timed(|| tools::shuttle_depth_first(shuttle_program, DEPTH_FIRST));
    row.depth_first_rate = executions as f64 / seconds;
    row
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn print_table(rows: &[Row]) {
    println!("\n## Exhausting bound {BOUND}\n");
    println!(
        "| program | executions loom | shuttle | icb | ms loom | shuttle | icb | executions/s loom | shuttle | icb \
         | ns/step loom | shuttle | icb | steps of an execution | icb/loom | icb/shuttle |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let (mut to_loom, mut to_shuttle) = (Vec::new(), Vec::new());
    for row in rows {
        let tools = [&row.loom, &row.shuttle, &row.icb];
        let mut cells: Vec<String> = vec![format!("`{}`", row.name)];
        cells.extend(tools.iter().map(|tool| thousands(tool.total() as f64)));
        cells.extend(tools.iter().map(|tool| format!("{:.2}", tool.second() * 1e3)));
        cells.extend(tools.iter().map(|tool| thousands(tool.rate())));
        cells.extend(tools.iter().map(|tool| format!("{:.0}", tool.ns_per_step())));
        let own = 1e9 / (row.icb.rate() * row.icb_steps);
        let last = cells.last_mut().expect("not empty");
        *last = format!("{last} ({own:.0})");
        cells.push(format!("{:.1} ({:.1})", row.icb.steps, row.icb_steps));
        to_loom.push(row.icb.rate() / row.loom.rate());
        to_shuttle.push(row.icb.rate() / row.shuttle.rate());
        cells.push(format!("{:.1}", to_loom.last().expect("not empty")));
        cells.push(format!("{:.1}", to_shuttle.last().expect("not empty")));
        println!("| {} |", cells.join(" | "));
    }
    let smallest = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    println!(
        "\nexecutions a second, icb/loom: median {:.1}, least {:.1}; icb/shuttle: median {:.1}, least {:.1}",
        median(&mut to_loom.clone()),
        smallest(&to_loom),
        median(&mut to_shuttle.clone()),
        smallest(&to_shuttle)
    );
}

/// What a user waits for: all bounds up to the last, with the reduction that each tool has by default.
fn print_times(rows: &[Row]) {
    println!("\n## Milliseconds to exhaust bounds 0 to {BOUND}, each tool with its default reduction\n");
    println!(
        "| program | states | executions loom | shuttle | icb | ms loom | shuttle | icb | µs/execution icb \
         | loom/icb | shuttle/icb |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    let (mut to_loom, mut to_shuttle) = (Vec::new(), Vec::new());
    for row in rows {
        let tools = [&row.loom, &row.shuttle, &row.reduced];
        to_loom.push(row.loom.second() / row.reduced.second());
        to_shuttle.push(row.shuttle.second() / row.reduced.second());
        let counts = tools.map(|tool| thousands(tool.total() as f64)).join(" | ");
        let times = tools.map(|tool| format!("{:.2}", tool.second() * 1e3)).join(" | ");
        println!(
            "| `{}` | {} | {counts} | {times} | {:.2} | {:.1} | {:.1} |",
            row.name,
            row.states,
            1e6 / row.reduced.rate(),
            to_loom[to_loom.len() - 1],
            to_shuttle[to_shuttle.len() - 1]
        );
    }
    println!(
        "\nseconds, loom/icb: median {:.1}; shuttle/icb: median {:.1}",
        median(&mut to_loom),
        median(&mut to_shuttle)
    );
}

fn print_counts(rows: &[Row]) {
    println!("\n## Executions with at most 0, 1, 2, 3 preemptions\n");
    println!(
        "| program | loom | shuttle | icb | shuttle's own search, executions/s |\n|---|---|---|---|---:|"
    );
    for row in rows {
        let list =
            |counts: &[u64]| counts.iter().map(|&n| thousands(n as f64)).collect::<Vec<_>>().join(" · ");
        println!(
            "| `{}` | {} | {} | {} | {} |",
            row.name,
            list(&row.loom.executions),
            list(&row.shuttle.executions),
            list(&row.icb.executions),
            thousands(row.depth_first_rate)
        );
    }
}

/// Every library installs a panic hook on top of what it finds, once. loom unwinds each of its threads, so the hook
/// that ignores that must be on top: else the others' hooks, at worst printing, would count against loom.
fn install_panic_hooks() {
    tools::shuttle(|| (), 0, 1);
    Icb::new(|| ()).run(0, 1);
    tools::loom(|| (), 0, 1);
}

/// icb on one program for a while.
fn profile(name: &str) {
    let (_, program) = in_icb::PROGRAMS.into_iter().find(|(n, _)| *n == name).expect("the name of a program");
    let mut icb = Icb::new(program);
    let (mut executions, began) = (0, cpu_time());
    while cpu_time() - began < 5.0 {
        executions += icb.run(BOUND, 1).executions[BOUND as usize];
    }
    println!("{name}: {} executions/s", thousands(executions as f64 / (cpu_time() - began)));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(program) =
        arguments.iter().position(|a| a == "--profile").and_then(|at| arguments.get(at + 1))
    {
        return profile(program);
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
    print_table(&rows);
    print_times(&rows);
    print_counts(&rows);
}
