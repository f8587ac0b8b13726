//! What the default reduction costs and what it saves: `cargo bench -p icb-tests --bench reduction`.
//!
//! - *Seconds to exhaust bound 3*: bounds 0 to 3 one after the other, with every execution and with the reduction.
//! - *Cost of the reduction*: time per step of the reduced search, against the time per step of **the same executions in the
//!   same order** run by a strategy that knows them beforehand and analyses nothing. As in the plain search, what an execution
//!   shares with the one before is foreseen, and from there on it is asked wherever more than one thread can go on.
//!
//! CPU time of one thread, median of repetitions in which the searches take turns; spurious wake-ups are off, and
//! terminal states are counted. Arguments: names of programs (parts of); `--profile none|reduced|listed ROUNDS` runs one search
//! alone, for a profiler.

use icb_core::explore::{Explorer, Options};
use icb_core::program::{BranchPoint, Chooser, Foreseen, Outcome, Program, SchedulingPoint, Strategy, Taken};
use icb_core::reduction::PartialOrder;
use icb_core::search::ContextBounded;
use icb_core::trace::{Access, ObjectId, ThreadId};
use icb_tests::programs::baselines::PROGRAMS;
use icb_tests::searches::without_spurious;
use icb_tests::usage::cpu_time;

const BOUND: u32 = 3;
const REPETITIONS: usize = 9;
/// A sample runs as many rounds as take about this long, in seconds.
const SAMPLE: f64 = 0.03;
/// Programs that have more executions without the reduction are measured with it only.
const MAX_EXECUTIONS: u64 = 100_000;

/// One execution: what it has decided, in order; branches stand at a place where no thread is chosen.
type Decisions = Vec<Foreseen>;

/// A place that no scheduling point has.
const NOWHERE: u64 = u64::MAX;

/// Passes on what the reduction chooses, and writes down what a search would be asked that is not told everything.
struct Recorder {
    inner: PartialOrder,
    bound: usize,
    /// By step the thread chosen, and the outcomes inside steps in their order.
    steps: Vec<u32>,
    branches: Vec<u32>,
    /// By bound, the executions.
    all: Vec<Vec<(Vec<u32>, Vec<u32>)>>,
}

impl Chooser for Recorder {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let thread = self.inner.choose_thread(point)?;
        self.steps.resize(point.step as usize, u32::MAX);
        self.steps.push(thread.index() as u32);
        Some(thread)
    }
    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let outcome = self.inner.choose_branch(point);
        self.branches.push(outcome);
        outcome
    }
    fn wants_every_point(&self) -> bool {
        true
    }
    fn stepped(&mut self, step: &Taken<'_>) {
        self.inner.stepped(step);
    }
    fn ended(&mut self, thread: ThreadId, object: ObjectId) {
        self.inner.ended(thread, object);
    }
    fn freed(&mut self, object: ObjectId) {
        self.inner.freed(object);
    }
    fn touched(&mut self, access: Access) {
        self.inner.touched(access);
    }
    fn over(&mut self, point: &SchedulingPoint<'_>, without: Option<ThreadId>) {
        self.inner.over(point, without);
    }
    fn divergence(&self) -> Option<String> {
        self.inner.divergence()
    }
}

impl Strategy for Recorder {
    fn begin(&mut self) -> bool {
        self.steps.clear();
        self.branches.clear();
        self.inner.begin()
    }
    fn end(&mut self, outcome: &Outcome) {
        self.inner.end(outcome);
        self.all[self.bound].push((self.steps.clone(), self.branches.clone()));
    }
    fn bound(&self) -> u32 {
        self.inner.bound()
    }
    fn advance(&mut self) -> bool {
        let advanced = self.inner.advance();
        if advanced {
            self.bound += 1;
            self.all.push(Vec::new());
        }
        advanced
    }
    fn is_exhausted(&self) -> bool {
        self.inner.is_exhausted()
    }
    fn progress(&self) -> (u64, Option<f64>) {
        self.inner.progress()
    }
    fn restart(&mut self) {
        unreachable!("nothing is promoted");
    }
    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}

/// Turns what the reduction chose at each step into what a search is asked.
struct Lister {
    steps: Vec<u32>,
    branches: std::vec::IntoIter<u32>,
    decisions: Decisions,
}

impl Chooser for Lister {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let chosen = *self.steps.get(point.step as usize)?;
        let place = Foreseen::place(point.place, point.enabled, point.early);
        self.decisions.push(Foreseen { place, chosen });
        Some(ThreadId::new(chosen as usize))
    }
    fn choose_branch(&mut self, _: &BranchPoint) -> u32 {
        let chosen = self.branches.next().expect("it was recorded");
        self.decisions.push(Foreseen { place: NOWHERE, chosen });
        chosen
    }
}

/// Runs executions that are known beforehand.
struct Listed {
    /// By bound: what each execution shares with the one before, its first difference included, and its decisions.
    all: Vec<Vec<(usize, Decisions)>>,
    bound: usize,
    next: usize,
    cursor: usize,
    /// What is asked is written down, as searches do.
    stack: Decisions,
}

impl Listed {
    fn of(program: &mut dyn Program) -> Self {
        let inner = PartialOrder::new(Some(BOUND));
        let mut recorder =
            Recorder { inner, bound: 0, steps: Vec::new(), branches: Vec::new(), all: vec![Vec::new()] };
        explore(&mut recorder, program);
        let mut list = |(steps, branches): (Vec<u32>, Vec<u32>)| {
            let mut lister = Lister { steps, branches: branches.into_iter(), decisions: Vec::new() };
            program.run(&mut lister, None);
            lister.decisions
        };
        let mut all = Vec::new();
        for executions in recorder.all {
            let mut previous: Decisions = Vec::new();
            let mut listed = Vec::new();
            for execution in executions {
                let decisions = list(execution);
                let shared = previous.iter().zip(&decisions).take_while(|(a, b)| a == b).count();
                previous.clone_from(&decisions);
                listed.push((if listed.is_empty() { 0 } else { shared + 1 }, decisions));
            }
            all.push(listed);
        }
        Listed { all, bound: 0, next: 0, cursor: 0, stack: Vec::new() }
    }

    fn rewind(&mut self) {
        self.bound = 0;
        self.next = 0;
    }

    fn decide(&mut self, place: u64) -> Option<u32> {
        let (shared, decisions) = &self.all[self.bound][self.next - 1];
        let decision = *decisions.get(self.cursor)?;
        assert!(decision.place == place, "the same execution");
        if self.cursor >= *shared {
            self.stack.push(decision);
        }
        self.cursor += 1;
        Some(decision.chosen)
    }
}

impl Chooser for Listed {
    fn foreseen(&self) -> &[Foreseen] {
        let (shared, decisions) = &self.all[self.bound][self.next - 1];
        &decisions[..(*shared).min(decisions.len())]
    }
    fn skip(&mut self, count: usize) {
        self.cursor += count;
    }
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let place = Foreseen::place(point.place, point.enabled, point.early);
        Some(ThreadId::new(self.decide(place)? as usize))
    }
    fn choose_branch(&mut self, _: &BranchPoint) -> u32 {
        self.decide(NOWHERE).expect("a decision")
    }
}

impl Strategy for Listed {
    fn begin(&mut self) -> bool {
        self.cursor = 0;
        self.stack.clear();
        self.next += 1;
        self.next <= self.all[self.bound].len()
    }
    fn end(&mut self, _: &Outcome) {}
    fn bound(&self) -> u32 {
        self.bound as u32
    }
    fn advance(&mut self) -> bool {
        self.next = 0;
        let advances = self.bound + 1 < self.all.len();
        self.bound += usize::from(advances);
        advances
    }
    fn is_exhausted(&self) -> bool {
        false
    }
    fn progress(&self) -> (u64, Option<f64>) {
        (0, None)
    }
    fn restart(&mut self) {
        unreachable!("nothing is promoted");
    }
    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}

/// What a search has run, over all bounds.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    executions: u64,
    steps: u64,
    states: u64,
    complete: bool,
}

fn explore_up_to(strategy: &mut dyn Strategy, program: &mut dyn Program, max: Option<u64>) -> Counts {
    let mut options = Options { check_determinism: false, ..Options::default() };
    options.limits.max_executions = max;
    let report = Explorer::new(options).run(strategy, program);
    let mut counts = Counts { complete: report.stopped.is_none(), ..Counts::default() };
    for bound in &report.bounds {
        counts.executions += bound.executions + bound.given_up;
        counts.steps += bound.steps;
        counts.states = bound.states;
    }
    counts
}

fn explore(strategy: &mut dyn Strategy, program: &mut dyn Program) -> Counts {
    explore_up_to(strategy, program, None)
}

/// One search on one program.
struct Measured<'a> {
    run: Box<dyn FnMut() -> Counts + 'a>,
    counts: Counts,
    rounds: u64,
    samples: Vec<f64>,
}

impl<'a> Measured<'a> {
    fn new(mut run: impl FnMut() -> Counts + 'a) -> Self {
        run();
        let before = cpu_time();
        let counts = run();
        let rounds = (SAMPLE / (cpu_time() - before)).ceil() as u64;
        Measured { run: Box::new(run), counts, rounds, samples: Vec::new() }
    }

    fn sample(&mut self) {
        let before = cpu_time();
        for _ in 0..self.rounds {
            (self.run)();
        }
        self.samples.push((cpu_time() - before) / self.rounds as f64);
    }

    fn seconds(&mut self) -> f64 {
        self.samples.sort_by(f64::total_cmp);
        self.samples[self.samples.len() / 2]
    }

    fn ns_per_step(&mut self) -> f64 {
        self.seconds() * 1e9 / self.counts.steps as f64
    }
}

/// Cost of the reduction in parts of a step, and how many times quicker it exhausts the bound.
fn row(name: &str, program: fn()) -> (f64, Option<f64>) {
    let [mut first, mut second, mut third] = [program; 3].map(without_spurious);
    let counted = explore_up_to(&mut ContextBounded::new(Some(BOUND)), &mut first, Some(MAX_EXECUTIONS));
    let mut plain = counted
        .complete
        .then(|| Measured::new(|| explore(&mut ContextBounded::new(Some(BOUND)), &mut first)));
    let mut reduced = Measured::new(|| explore(&mut PartialOrder::new(Some(BOUND)), &mut second));
    let mut list = Listed::of(&mut third);
    let mut listed = Measured::new(|| {
        list.rewind();
        explore(&mut list, &mut third)
    });
    assert_eq!(reduced.counts.executions, listed.counts.executions, "{name}");
    assert_eq!(reduced.counts.states, listed.counts.states, "{name}");
    for _ in 0..REPETITIONS {
        plain.iter_mut().for_each(Measured::sample);
        reduced.sample();
        listed.sample();
    }
    let (counts, seconds) = (reduced.counts, reduced.seconds());
    let cost = reduced.ns_per_step() / listed.ns_per_step() - 1.0;
    let (mut executions, mut milliseconds, mut per_step, mut times) =
        (format!("> {MAX_EXECUTIONS}"), String::new(), String::new(), String::new());
    let mut speedup = None;
    if let Some(plain) = &mut plain {
        executions = plain.counts.executions.to_string();
        milliseconds = format!("{:.2}", plain.seconds() * 1e3);
        per_step = format!("{:.0}", plain.ns_per_step());
        let ratio = plain.seconds() / seconds;
        times = format!("{ratio:.2}");
        speedup = Some(ratio);
    }
    println!(
        "| `{name}` | {executions} | {} | {} | {milliseconds} | {:.2} | {times} | {per_step} | {:.0} | {:.0} | {:+.0} % |",
        counts.executions,
        counts.states,
        seconds * 1e3,
        seconds * 1e9 / counts.steps as f64,
        listed.ns_per_step(),
        cost * 1e2,
    );
    (cost, speedup)
}

fn profile(name: &str, program: fn(), search: &str, rounds: u64) {
    let mut program = without_spurious(program);
    let mut list = (search == "listed").then(|| Listed::of(&mut program));
    let mut counts = Counts::default();
    for _ in 0..rounds {
        counts = match (search, &mut list) {
            ("none", _) => explore(&mut ContextBounded::new(Some(BOUND)), &mut program),
            (_, Some(list)) => {
                list.rewind();
                explore(list, &mut program)
            }
            _ => explore(&mut PartialOrder::new(Some(BOUND)), &mut program),
        };
    }
    println!("{name}, {search}, {rounds} rounds of {counts:?}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|a| a == "--bench") {
        return; // `cargo test --all-targets` only wants to see it compile.
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| *a != "--bench").collect();
    let (search, names) = match arguments.as_slice() {
        ["--profile", search, rounds, names @ ..] => {
            (Some((*search, rounds.parse().expect("a number of rounds"))), names)
        }
        names => (None, names),
    };
    let programs = PROGRAMS.iter().map(|&(entry, _)| entry);
    let wanted = programs.filter(|(name, _)| names.is_empty() || names.iter().any(|n| name.contains(n)));
    if let Some((search, rounds)) = search {
        wanted.for_each(|(name, program)| profile(name, program, search, rounds));
        return;
    }
    println!(
        "| program | executions plain | reduced | classes | ms plain | reduced | times quicker | ns/step plain | reduced \
         | same executions, not analysed | cost of the reduction |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let (mut costs, mut speedups) = (Vec::new(), Vec::new());
    for (name, program) in wanted {
        let (cost, speedup) = row(name, program);
        costs.push(cost);
        speedups.extend(speedup);
    }
    costs.sort_by(f64::total_cmp);
    speedups.sort_by(f64::total_cmp);
    println!(
        "\ncost of the reduction: median {:+.0} %, most {:+.0} %; times quicker: median {:.1}, least {:.2}",
        costs[costs.len() / 2] * 1e2,
        costs.last().expect("a program") * 1e2,
        speedups.get(speedups.len() / 2).copied().unwrap_or(f64::NAN),
        speedups.first().copied().unwrap_or(f64::NAN),
    );
}
