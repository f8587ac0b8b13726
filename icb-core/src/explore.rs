//! The loop: strategy × program × limits → report. It knows neither coroutines nor the environment and prints
//! nothing; whoever wants to know meanwhile passes a callback.

use crate::observe::{Shape, Signature};
use crate::program::{Absorbed, Elsewhere, End, Outcome, Program, Strategy};
use crate::trace::{BoundReport, Failure, FailureKind, Growth, Report, Stopped};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When to stop early.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Executions over all bounds.
    pub max_executions: Option<u64>,
    /// Time over all bounds.
    pub max_duration: Option<Duration>,
}

/// What an exploration is to do beyond running executions.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// When to stop early.
    pub limits: Limits,
    /// Whether the first failure ends the search.
    pub stop_at_failure: bool,
    /// Whether distinct terminal states are counted (16 bytes each, and some).
    pub count_states: bool,
    /// Whether the first execution is run twice to see that the test is deterministic.
    pub check_determinism: bool,
    /// Executions of each bound whose blocking steps and preemptions are counted; slower than not to.
    pub measured_executions: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            limits: Limits::default(),
            stop_at_failure: true,
            count_states: true,
            check_determinism: true,
            measured_executions: 0,
        }
    }
}

/// What is told while the search runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// A few times a second.
    Progress {
        /// Figures of the bound at work.
        bound: &'a BoundReport,
        /// Work items left at it.
        frontier: u64,
        /// Share of it that is done.
        done: Option<f64>,
    },
    /// A bound is over or cut short.
    Bound(&'a BoundReport),
    /// A failure.
    Failure(&'a Failure),
}

/// States are their own hashes.
#[derive(Default)]
pub struct StateHasher(u64);

impl Hasher for StateHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            self.0 = chunk.iter().fold(self.0.rotate_left(5), |hash, &byte| (hash << 8) ^ u64::from(byte));
        }
    }
    fn write_u128(&mut self, state: u128) {
        self.0 = state as u64;
    }
}

/// Fingerprints of terminal states.
pub type States = HashSet<u128, BuildHasherDefault<StateHasher>>;

/// One exploration.
pub struct Explorer<'a> {
    options: Options,
    states: States,
    listener: Option<&'a mut dyn FnMut(Event<'_>)>,
    interrupt: Option<&'a AtomicBool>,
    started: Instant,
    executions: u64,
    growth: Vec<Growth>,
    next_sample: u64,
    stopped: Option<Stopped>,
    failure: Option<Failure>,
    /// What the execution of the default choices came to before the search, if it failed.
    failed_first: Option<String>,
}

impl std::fmt::Debug for Explorer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explorer").field("executions", &self.executions).finish_non_exhaustive()
    }
}

/// So many bounds in which there are no executions any more are reported.
const MAX_EMPTY_BOUNDS: u32 = 1_000;
/// Steps between two looks at the clock, about.
const STEPS_BETWEEN_LOOKS: u64 = 4_000;
const BETWEEN_REPORTS: Duration = Duration::from_millis(200);

impl<'a> Explorer<'a> {
    /// An exploration that has not begun.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Explorer {
            options,
            states: States::default(),
            listener: None,
            interrupt: None,
            started: Instant::now(),
            executions: 0,
            growth: Vec::new(),
            next_sample: 1,
            stopped: None,
            failure: None,
            failed_first: None,
        }
    }

    /// Tells what happens.
    pub fn listen(&mut self, listener: &'a mut dyn FnMut(Event<'_>)) {
        self.listener = Some(listener);
    }

    /// Stops soon after the flag is set.
    pub fn interrupt_by(&mut self, flag: &'a AtomicBool) {
        self.interrupt = Some(flag);
    }

    /// States that earlier bounds have reached in another process.
    pub fn add_states(&mut self, states: impl IntoIterator<Item = u128>) {
        self.states.extend(states);
    }

    /// The terminal states reached.
    #[must_use]
    pub fn states(&self) -> &States {
        &self.states
    }

    /// Runs the program under the strategy, bound after bound, until nothing is left, a failure is found or a limit
    /// is reached.
    pub fn run(&mut self, strategy: &mut dyn Strategy, program: &mut dyn Program) -> Report {
        self.started = Instant::now();
        let mut bounds: Vec<BoundReport> = Vec::new();
        if self.options.check_determinism {
            self.check_determinism(&mut || Signature::of_default(program));
        }
        let mut began = self.started;
        while self.stopped.is_none() {
            let bound = self.run_bound(strategy, program, began);
            let Some(mut bound) = bound else {
                // Scheduling points have been added: what was claimed before does not count, but it took its time.
                bounds.clear();
                self.states.clear();
                self.growth.clear();
                strategy.restart();
                began = self.started;
                continue;
            };
            began = Instant::now();
            bound.complete = self.stopped.is_none() && strategy.claims();
            bound.next_items = strategy.next_items();
            bound.exhausted = bound.complete && strategy.is_exhausted();
            self.tell(Event::Bound(&bound));
            bounds.push(bound);
            if self.stopped.is_some() || !strategy.advance() {
                break;
            }
        }
        if self.failure.is_none()
            && let Some(failure) = self.failed_first.take()
        {
            self.look_for_failure_again(&failure, program);
        }
        self.fill_up(strategy.max_bound(), &mut bounds);
        Report {
            complete: self.failure.is_none() && self.stopped.is_none() && strategy.claims(),
            growth: self.grown(),
            bounds,
            failure: self.failure.take(),
            stopped: self.stopped,
            ..Report::default()
        }
    }

    /// Looks whether the program is deterministic, before it is [`run`](Self::run), which ends at once if it is not. It is given the execution of
    /// the default choices.
    pub(crate) fn check_determinism(&mut self, run_default: &mut dyn FnMut() -> (Signature, Outcome)) {
        match looked_at_twice(run_default) {
            DefaultExecution::Same => {}
            DefaultExecution::Fails(failure) => self.failed_first = Some(failure),
            DefaultExecution::Differs(failure) => self.failed(*failure),
        }
    }

    /// The execution of the default choices failed, and nothing that the search has run since: it fails again where the search has not come to it (a shard, a
    /// search at random), or does not.
    #[cold]
    fn look_for_failure_again(&mut self, failure: &str, program: &mut dyn Program) {
        let (_, outcome) = Signature::of_default(program);
        if matches!(outcome.end, End::Passed) && !outcome.promoted {
            let message = format!(
                "the test failed ({failure}), and with the same schedule it then passed: it depends on something that the first execution has left \
                 behind, or on {OUTSIDE}"
            );
            self.failed(Failure::new(FailureKind::Divergence, message));
        }
    }

    /// Where nothing is left, the bounds asked for after the last one that has executions are complete too: so many of them get a report.
    fn fill_up(&mut self, max_bound: Option<u32>, bounds: &mut Vec<BoundReport>) {
        let reported = bounds.last().map_or(0, |last| last.bound.saturating_add(MAX_EMPTY_BOUNDS));
        let max_bound = max_bound.map(|max| max.min(reported));
        while let (Some(last), Some(max)) = (bounds.last(), max_bound)
            && last.exhausted
            && last.bound < max
        {
            let mut bound = BoundReport::new(last.bound + 1);
            bound.states = last.states;
            bound.complete = true;
            bound.exhausted = true;
            self.tell(Event::Bound(&bound));
            bounds.push(bound);
        }
    }

    /// All executions of the current bound. `None`: the program has changed its scheduling points.
    /// It counts as at work since `began`.
    fn run_bound(
        &mut self,
        strategy: &mut dyn Strategy,
        program: &mut dyn Program,
        began: Instant,
    ) -> Option<BoundReport> {
        let mut report = BoundReport::new(strategy.bound());
        let mut look_at = 0;
        let mut told = Instant::now();
        while self.stopped.is_none() {
            match strategy.absorb(self.executions_left()) {
                Absorbed::Nothing if !strategy.begin() => break,
                Absorbed::Nothing => {}
                Absorbed::Waiting => {
                    self.look(strategy, &mut report, began, &mut told);
                    continue;
                }
                Absorbed::Done(part) => {
                    self.take_over(&part, &mut report);
                    self.look(strategy, &mut report, began, &mut told);
                    continue;
                }
            }
            if report.steps >= look_at {
                look_at = report.steps + STEPS_BETWEEN_LOOKS;
                self.look(strategy, &mut report, began, &mut told);
                if self.stopped.is_some() {
                    break;
                }
            }
            if self.options.limits.max_executions.is_some_and(|max| self.executions >= max) {
                self.stopped = Some(Stopped::Executions);
                break;
            }
            self.executions += 1;
            program.label(report.bound, self.executions);
            let outcome = if report.executions < self.options.measured_executions {
                run_measured(strategy, program, &mut report)
            } else {
                program.run(strategy.chooser(), None)
            };
            strategy.end(&outcome);
            report.steps += outcome.step_count;
            report.max_steps = report.max_steps.max(outcome.step_count);
            report.max_threads = report.max_threads.max(outcome.thread_count);
            match outcome.end {
                _ if outcome.promoted => return None,
                End::GivenUp => {
                    report.given_up += 1;
                    continue;
                }
                End::Passed => report.executions += 1,
                End::Failed(failure) => {
                    report.executions += 1;
                    report.failures += 1;
                    let diverged = failure.kind == FailureKind::Divergence;
                    if self.options.stop_at_failure || diverged {
                        self.failed(*failure);
                    } else if self.failure.as_ref().is_none_or(|known| failure.bound < known.bound) {
                        self.failure = Some(Failure { execution: self.executions, ..*failure });
                    }
                }
            }
            if self.options.count_states {
                self.states.insert(outcome.fingerprint);
                if self.executions >= self.next_sample {
                    self.sample();
                }
            }
        }
        report.seconds = began.elapsed().as_secs_f64();
        report.states = self.states.len() as u64;
        Some(report)
    }

    /// Executions that may still be run.
    fn executions_left(&self) -> u64 {
        self.options.limits.max_executions.map_or(u64::MAX, |max| max.saturating_sub(self.executions))
    }

    /// Looks at the clock, and tells how far the bound is.
    #[cold]
    fn look(
        &mut self,
        strategy: &dyn Strategy,
        report: &mut BoundReport,
        began: Instant,
        told: &mut Instant,
    ) {
        let now = Instant::now();
        self.check_time(now);
        if now - *told >= BETWEEN_REPORTS {
            *told = now;
            report.seconds = (now - began).as_secs_f64();
            report.states = self.states.len() as u64;
            let (frontier, done) = strategy.progress();
            self.tell(Event::Progress { bound: report, frontier, done });
        }
    }

    /// Counts executions that have been run elsewhere, as if they had been run here.
    fn take_over(&mut self, part: &Elsewhere, report: &mut BoundReport) {
        report.steps += part.step_count;
        report.max_steps = report.max_steps.max(part.max_steps);
        report.max_threads = report.max_threads.max(part.max_threads);
        for &state in &part.trail {
            self.executions += 1;
            if state == 0 {
                report.given_up += 1;
                continue;
            }
            report.executions += 1;
            if self.options.count_states {
                self.states.insert(state);
                if self.executions >= self.next_sample {
                    self.sample();
                }
            }
        }
    }

    /// Notes how many states have been reached, and when to look again.
    #[cold]
    fn sample(&mut self) {
        self.growth.push(Growth { executions: self.executions, states: self.states.len() as u64 });
        self.next_sample = (self.executions + 1).max(self.executions * 6 / 5);
    }

    /// The samples, with one at the end.
    fn grown(&mut self) -> Vec<Growth> {
        if self.growth.last().is_some_and(|last| last.executions < self.executions) {
            self.sample();
        }
        std::mem::take(&mut self.growth)
    }

    fn failed(&mut self, mut failure: Failure) {
        failure.execution = self.executions;
        self.stopped = Some(Stopped::Failure);
        self.tell(Event::Failure(&failure));
        self.failure = Some(failure);
    }

    fn check_time(&mut self, now: Instant) {
        if self.options.limits.max_duration.is_some_and(|max| now - self.started >= max) {
            self.stopped = Some(Stopped::Duration);
        }
        if self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.stopped = Some(Stopped::Interrupt);
        }
    }

    fn tell(&mut self, event: Event<'_>) {
        if let Some(listener) = &mut self.listener {
            listener(event);
        }
    }
}

/// Runs one execution and counts what Theorem 1 speaks of.
fn run_measured(strategy: &mut dyn Strategy, program: &mut dyn Program, report: &mut BoundReport) -> Outcome {
    let mut shape = Shape::default();
    let outcome = program.run(strategy.chooser(), Some(&mut shape));
    report.max_blocking = report.max_blocking.max(shape.blocking + u64::from(outcome.thread_count));
    report.max_preemptions = report.max_preemptions.max(shape.preemptions);
    outcome
}

/// What the execution of the default choices shows.
enum DefaultExecution {
    /// It does the same each time.
    Same,
    /// It fails, in these words.
    Fails(String),
    /// The second time it does something else.
    Differs(Box<Failure>),
}

/// What is not a function of the schedule.
const OUTSIDE: &str = "something outside the model (a global that is not of the mirrored std, an environment variable, the real clock, a file)";

/// Runs the execution of the default choices twice.
fn looked_at_twice(run_default: &mut dyn FnMut() -> (Signature, Outcome)) -> DefaultExecution {
    let words = |failure: &Failure| failure.to_string().lines().next().unwrap_or_default().to_owned();
    let (first, outcome) = run_default();
    // A failing execution is found again by the search, and told there. Its stacks may not have been unwound, so it
    // is not run a second time here.
    match &outcome.end {
        _ if outcome.promoted => return DefaultExecution::Same,
        End::Failed(failure) => return DefaultExecution::Fails(words(failure)),
        _ => {}
    }
    let (second, outcome) = run_default();
    let difference = first.difference(&second).or_else(|| match &outcome.end {
        End::Failed(failure) => Some(format!(
            "the test passed, and with the same schedule it then failed ({}): it depends on something that the first execution \
             has left behind, or on {OUTSIDE}",
            words(failure)
        )),
        _ => None,
    });
    match difference {
        Some(difference) => {
            DefaultExecution::Differs(Box::new(Failure::new(FailureKind::Divergence, difference)))
        }
        None => DefaultExecution::Same,
    }
}
