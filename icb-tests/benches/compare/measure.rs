//! Measuring: each tool on each program, in turns, in CPU time of the one thread that runs them.

use crate::programs::{
    Entry, in_icb, in_icb_counted, in_loom, in_loom_counted, in_shuttle, in_shuttle_counted, take_steps,
};
use crate::tools::{self, Icb, IcbCounts};
use icb_tests::usage::{cpu_time, memory};

/// A sample runs as many rounds as take about this long.
const SAMPLE: f64 = 0.04;
/// No further repetition of a program is begun after so much time.
const PER_PROGRAM: f64 = 14.0;

/// The last bound that is exhausted. Long executions have very many with few preemptions.
pub(crate) fn last_bound(program: &str) -> u32 {
    match program {
        "long(2,75)" => 1,
        "relay(16)" => 2,
        _ => 3,
    }
}

/// loom has at most 5 threads.
fn loom_can(program: &str) -> bool {
    program != "relay(16)"
}

/// Where loom's search without a bound ends within seconds.
pub(crate) fn ends_without_bound(program: &str) -> bool {
    let endless = ["counter_racy(3,2)", "prodcons(2,2,1)", "treiber(3)", "long(2,75)"];
    loom_can(program) && !endless.contains(&program)
}

fn timed<R>(f: impl FnOnce() -> R) -> (R, f64) {
    let before = cpu_time();
    let result = f();
    (result, cpu_time() - before)
}

/// The middle one.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// One tool on one program.
#[derive(Default)]
pub(crate) struct Result {
    /// Executions to exhaust each bound.
    pub(crate) executions: Vec<u64>,
    /// Visible operations of the text in an execution under the last bound, on average.
    pub(crate) steps: f64,
    /// Seconds to exhaust the last bound, one a repetition.
    seconds: Vec<f64>,
    rounds: u64,
    /// Largest resident memory of a process that does only this, in KiB.
    pub(crate) memory: Option<u64>,
}

impl Result {
    /// Runs each bound once in the counting copy, which also shows how many rounds a sample needs.
    fn count(last_bound: u32, mut run: impl FnMut(u32) -> u64) -> Self {
        let mut result = Result::default();
        for bound in 0..=last_bound {
            take_steps();
            let (executions, seconds) = timed(|| run(bound));
            result.executions.push(executions);
            result.steps = take_steps() as f64 / executions as f64;
            result.rounds = (SAMPLE / seconds).ceil() as u64;
        }
        result
    }

    /// Executions to exhaust the last bound.
    pub(crate) fn total(&self) -> u64 {
        self.executions.last().copied().unwrap_or(0)
    }

    fn sample(&mut self, run: impl FnOnce(u64) -> u64) {
        let (executions, seconds) = timed(|| run(self.rounds));
        assert_eq!(executions, self.total(), "an exploration is a pure function");
        self.seconds.push(seconds / self.rounds as f64);
    }

    /// Seconds to exhaust the last bound.
    pub(crate) fn second(&self) -> f64 {
        median(&self.seconds)
    }

    /// Executions a second.
    pub(crate) fn rate(&self) -> f64 {
        self.total() as f64 / self.second()
    }

    /// Nanoseconds for each visible operation of the text.
    pub(crate) fn ns_per_step(&self) -> f64 {
        1e9 / (self.rate() * self.steps)
    }
}

/// A search without a bound, reduced.
pub(crate) struct Unbounded {
    /// Executions and seconds of loom.
    pub(crate) loom: (u64, f64),
    /// Executions and seconds of icb.
    pub(crate) icb: (u64, f64),
    /// The same at once, without the bounds that come first.
    pub(crate) at_once: (u64, f64),
    /// Distinct terminal states.
    pub(crate) states: u64,
}

/// What was measured of one program.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) loom: Option<Result>,
    pub(crate) shuttle: Result,
    /// icb without a reduction.
    pub(crate) plain: Result,
    /// icb with its reduction.
    pub(crate) reduced: Result,
    /// The same for the last bound alone.
    pub(crate) at_once: Result,
    /// Distinct terminal states.
    pub(crate) states: u64,
    /// Steps of an execution by icb's own count.
    pub(crate) icb_steps: f64,
    pub(crate) unbounded: Option<Unbounded>,
}

/// Measures one program.
pub(crate) fn measure(index: usize, repetitions: usize) -> Row {
    let (name, loom_program): Entry = in_loom::PROGRAMS[index];
    let (_, shuttle_program) = in_shuttle::PROGRAMS[index];
    let (_, loom_counted) = in_loom_counted::PROGRAMS[index];
    let (_, shuttle_counted) = in_shuttle_counted::PROGRAMS[index];
    let mut icb_program = Icb::new(in_icb::PROGRAMS[index].1);
    let mut icb_counted = Icb::new(in_icb_counted::PROGRAMS[index].1);

    let began = cpu_time();
    let last = last_bound(name);
    let mut counts = IcbCounts::default();
    let mut row = Row {
        name,
        loom: loom_can(name).then(|| Result::count(last, |bound| tools::loom(loom_counted, Some(bound), 1))),
        shuttle: Result::count(last, |bound| tools::shuttle(shuttle_counted, bound, 1)),
        plain: Result::count(last, |bound| {
            counts = icb_counted.run(bound, 1);
            *counts.executions.last().expect("a bound")
        }),
        reduced: Result::count(last, |bound| icb_counted.run_reduced(Some(bound), 1).0),
        at_once: Result::count(last, |bound| icb_counted.run_at_once(Some(bound), 1).0),
        states: 0,
        icb_steps: 0.0,
        unbounded: ends_without_bound(name).then(|| {
            let (loom, loom_seconds) = timed(|| tools::loom(loom_program, None, 1));
            // The least of three: it is short.
            let mut least = |run: fn(&mut Icb) -> (u64, u64)| {
                let three = (0..3).map(|_| timed(|| run(&mut icb_program)));
                let ((executions, states), seconds) =
                    three.min_by(|a, b| a.1.total_cmp(&b.1)).expect("three");
                ((executions, seconds), states)
            };
            let (icb, states) = least(|icb| icb.run_reduced(None, 1));
            let (at_once, _) = least(|icb| icb.run_at_once(None, 1));
            Unbounded { loom: (loom, loom_seconds), icb, at_once, states }
        }),
    };
    row.states = counts.states;
    row.icb_steps = counts.steps as f64 / row.plain.total() as f64;
    for _ in 0..repetitions {
        if let Some(loom) = &mut row.loom {
            loom.sample(|rounds| tools::loom(loom_program, Some(last), rounds));
        }
        row.shuttle.sample(|rounds| tools::shuttle(shuttle_program, last, rounds));
        row.plain.sample(|rounds| *icb_program.run(last, rounds).executions.last().expect("a bound"));
        row.reduced.sample(|rounds| icb_program.run_reduced(Some(last), rounds).0);
        row.at_once.sample(|rounds| icb_program.run_at_once(Some(last), rounds).0);
        if cpu_time() - began > PER_PROGRAM {
            break;
        }
    }
    if let Some(loom) = &mut row.loom {
        loom.memory = memory_of_child("loom", name);
    }
    row.shuttle.memory = memory_of_child("shuttle", name);
    row.plain.memory = memory_of_child("plain", name);
    row.reduced.memory = memory_of_child("reduced", name);
    row.at_once.memory = memory_of_child("at once", name);
    row
}

/// Starts this program again, to run one tool on one program and say how much memory that took.
fn memory_of_child(tool: &str, program: &str) -> Option<u64> {
    let output = std::process::Command::new(std::env::current_exe().ok()?)
        .args(["--memory", tool, program])
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// In the child: exhausts the last bound once and prints the largest resident memory of the process, in KiB.
///
/// # Panics
/// If there is no such tool or program.
pub(crate) fn report_memory(tool: &str, program: &str) {
    let index =
        in_icb::PROGRAMS.iter().position(|(name, _)| *name == program).expect("the name of a program");
    let bound = last_bound(program);
    match tool {
        "loom" => tools::loom(in_loom::PROGRAMS[index].1, Some(bound), 1),
        "shuttle" => tools::shuttle(in_shuttle::PROGRAMS[index].1, bound, 1),
        "plain" => Icb::new(in_icb::PROGRAMS[index].1).run(bound, 1).executions.len() as u64,
        "reduced" => Icb::new(in_icb::PROGRAMS[index].1).run_reduced(Some(bound), 1).0,
        "at once" => Icb::new(in_icb::PROGRAMS[index].1).run_at_once(Some(bound), 1).0,
        _ => panic!("there is no tool {tool}"),
    };
    println!("{}", memory("VmHWM").map_or_else(String::new, |peak| peak.to_string()));
}
