//! `model` and `Builder`: what tests call.

use super::channel::Channel;
use super::settings::Settings;
use super::watchdog::Watchdog;
use crate::explore::{Event, Explorer, Limits, Options};
use crate::observe::Recorder;
use crate::program::{End, Granularity, Program, Strategy};
use crate::recording::Tape;
use crate::reduction::PartialOrder;
use crate::runtime::{self, CoroutineProgram};
use crate::search::{ContextBounded, DepthFirst, Frontier, Replay};
use crate::trace::{Failure, FailureKind, Message, Report, Schedule, table};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// In which order executions are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum StrategyKind {
    /// Iterative context bounding: all executions with 0 preemptions, then 1, …
    #[default]
    ContextBounded,
    /// Depth first, without a bound.
    DepthFirst,
}

/// Which executions are left out because others stand for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum ReductionKind {
    /// None are: every execution is run.
    None,
    /// Executions that differ only in the order of operations that commute are run about once: bounded dynamic
    /// partial-order reduction, see [`PartialOrder`](crate::reduction::PartialOrder).
    #[default]
    PartialOrder,
}

/// What a data race leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnRace {
    /// It is a failure.
    #[default]
    Fail,
    /// The racing variable becomes a synchronization variable: its accesses become scheduling points, and the search
    /// begins anew with them (the dynamic partition of PLDI 2007, §3.1).
    Promote,
}

/// Explores a closure. Made by [`Builder::new`], which takes defaults overridden by `ICB_*` variables.
///
/// `EXPLORE` is false where the crate under test is compiled without `cfg(icb)`: the closure is then run once, on
/// real threads.
#[derive(Clone, Debug)]
pub struct Builder<const EXPLORE: bool = true> {
    settings: Settings,
    /// What is wrong with the variables.
    refused: Option<String>,
}

impl<const EXPLORE: bool> Default for Builder<EXPLORE> {
    fn default() -> Self {
        Self::new()
    }
}

/// Explores `f` with the defaults and the `ICB_*` settings.
///
/// # Panics
/// With the rendered report if the exploration finds a failure.
pub fn model<const EXPLORE: bool, F: Fn() + Send + Sync + 'static>(f: F) {
    Builder::<EXPLORE>::new().check(f);
}

/// Models of this process, to number them within their test.
static NEXT_MODEL: AtomicU32 = AtomicU32::new(0);

/// One exploration at a time: statics of the program are shared by all of them.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl<const EXPLORE: bool> Builder<EXPLORE> {
    /// Defaults: bounds 0 to 2, sync-only scheduling with race checking, no limits but 20,000 steps an execution; each
    /// overridden by its `ICB_*` variable.
    #[must_use]
    pub fn new() -> Self {
        let mut settings = Settings::default();
        let refused = settings.apply_defaults(|name| std::env::var(name).ok()).err();
        Builder { settings, refused }
    }

    /// The last bound to search.
    #[must_use]
    pub fn max_bound(mut self, bound: u32) -> Self {
        self.settings.max_bound = Some(bound);
        self
    }

    /// Searches until no execution has more preemptions.
    #[must_use]
    pub fn unbounded(mut self) -> Self {
        self.settings.max_bound = None;
        self
    }

    /// At which operations threads may be switched.
    #[must_use]
    pub fn granularity(mut self, granularity: Granularity) -> Self {
        self.settings.granularity = granularity;
        self
    }

    /// In which order executions are tried.
    #[must_use]
    pub fn strategy(mut self, strategy: StrategyKind) -> Self {
        self.settings.strategy = strategy;
        self
    }

    /// Which executions are left out.
    #[must_use]
    pub fn reduction(mut self, reduction: ReductionKind) -> Self {
        self.settings.reduction = reduction;
        self
    }

    /// What a data race leads to.
    #[must_use]
    pub fn on_race(mut self, on_race: OnRace) -> Self {
        self.settings.on_race = on_race;
        self
    }

    /// Stops after so many executions; the report is then incomplete.
    #[must_use]
    pub fn max_executions(mut self, count: u64) -> Self {
        self.settings.max_executions = Some(count);
        self
    }

    /// An execution with more steps is a failure.
    #[must_use]
    pub fn max_steps(mut self, count: u64) -> Self {
        self.settings.max_steps = count;
        self
    }

    /// Stops after this time; the report is then incomplete.
    #[must_use]
    pub fn max_duration(mut self, duration: Duration) -> Self {
        self.settings.max_duration = Some(duration);
        self
    }

    /// Stack of each thread in bytes, unless it asks for more itself.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = bytes;
        self
    }

    /// Number of worker threads. One execution stream is used at present, whatever the number.
    #[must_use]
    pub fn workers(self, _count: usize) -> Self {
        self
    }

    /// Whether condvar waits may wake, and `compare_exchange_weak` fail, for no reason, at a cost of 1 each. On by
    /// default.
    #[must_use]
    pub fn spurious(mut self, spurious: bool) -> Self {
        self.settings.spurious = spurious;
        self
    }

    /// Whether the search goes on after a failure, to count all of them. The report holds the first.
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.settings.keep_going = keep_going;
        self
    }

    /// Runs only this execution.
    #[must_use]
    pub fn replay(mut self, schedule: Schedule) -> Self {
        self.settings.replay = Some(schedule);
        self
    }

    /// Explores `f`. The `ICB_*` variables override what was set here, so that `cargo icb` can steer, and it is told
    /// what happens.
    ///
    /// # Panics
    /// With the rendered report if a failure is found, with one sentence if the settings are wrong, and inside another
    /// exploration.
    #[track_caller]
    pub fn check<F: Fn() + Send + Sync + 'static>(mut self, f: F) {
        if !EXPLORE {
            return f();
        }
        let applied = self.settings.apply(|name| std::env::var(name).ok());
        let channel = Channel::open(self.settings.channel.as_deref());
        let channel = match (applied, channel) {
            (Ok(()), Ok(channel)) => channel,
            (Err(message), channel) => {
                if let Ok(channel) = channel {
                    channel.send(&Message::Refused { message: message.clone() });
                }
                panic!("icb: {message}");
            }
            (_, Err(message)) => panic!("icb: {message}"),
        };
        let model = NEXT_MODEL.fetch_add(1, Ordering::Relaxed);
        let report = Worker { settings: self.settings, channel, model }.run(&closure(f));
        if let Some(failure) = report.failure {
            let options = table::Options { width: 100, ..table::Options::default() };
            let text = table::render(&failure, &options).to_plain_string();
            panic!("{text}\nreplay it with ICB_REPLAY='{}'", failure.schedule);
        }
    }

    /// Explores `f` as set here, and reports what was found; a failure of the program under test does not panic. For
    /// tests that look into the report. `cargo icb` does not steer it.
    ///
    /// # Panics
    /// With one sentence if the settings are wrong, and inside another exploration.
    #[track_caller]
    pub fn explore<F: Fn() + Send + Sync + 'static>(self, f: F) -> Report {
        if !EXPLORE {
            f();
            return Report::default();
        }
        if let Some(message) = self.refused.or_else(|| self.settings.check().err()) {
            panic!("icb: {message}");
        }
        Worker { settings: self.settings, channel: Channel::default(), model: 0 }.run(&closure(f))
    }
}

fn closure<F: Fn() + Send + Sync + 'static>(f: F) -> Closure {
    Arc::new(f)
}

/// What is explored.
type Closure = Arc<dyn Fn() + Send + Sync>;

struct Worker {
    settings: Settings,
    channel: Channel,
    model: u32,
}

impl Worker {
    fn run(mut self, f: &Closure) -> Report {
        assert!(!runtime::active(), "a model cannot be run inside a model");
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let replay = self.settings.replay.take();
        let elsewhere =
            replay.is_some() && self.channel.is_open() && self.model != self.settings.replay_model;
        self.channel.send(&Message::Started {
            model: self.model,
            pid: std::process::id(),
            min_bound: self.settings.min_bound,
            max_bound: self.settings.max_bound,
        });
        if elsewhere {
            // Another model of this test is being replayed: this one only has to lead there.
            self.settings.max_bound = Some(0);
            self.settings.max_executions = Some(1);
            self.settings.channel = None;
            self.channel = Channel::default();
            return self.search(f);
        }
        let report = match replay {
            Some(schedule) => self.replay(f, &schedule),
            None => self.search(f),
        };
        self.channel.send(&Message::Finished { model: self.model, report: Box::new(report.clone()) });
        report
    }

    fn runtime_settings(&self) -> runtime::Settings {
        runtime::Settings {
            granularity: self.settings.granularity,
            spurious: self.settings.spurious,
            promote: self.settings.on_race == OnRace::Promote,
            max_steps: self.settings.max_steps,
            stack_size: self.settings.stack_size,
            unwind_failed: self.settings.keep_going,
        }
    }

    fn program(&self, f: &Closure) -> CoroutineProgram {
        let mut program = CoroutineProgram::new(f.clone(), self.runtime_settings(), self.tape());
        program.set_model(self.model);
        program
    }

    /// Choices are recorded in a mapped file where there is a directory, so that they survive an abort.
    fn tape(&self) -> Tape {
        let capacity = (self.settings.max_steps as usize).saturating_mul(2).clamp(1024, 1 << 28);
        let mapped = self.file("flight").and_then(|path| map_file(&path, Tape::byte_count(capacity)).ok());
        mapped.map_or_else(|| Tape::new(capacity), Tape::mapped)
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.settings.directory.as_ref()?.join(format!("{name}-{}", self.model)))
    }

    fn search(&self, f: &Closure) -> Report {
        let settings = &self.settings;
        let mut program = self.program(f);
        let _watchdog =
            Watchdog::start(program.heartbeat(), settings.watchdog, self.channel.clone(), self.model);
        let options = Options {
            limits: Limits { max_executions: settings.max_executions, max_duration: settings.max_duration },
            stop_at_failure: !settings.keep_going,
            count_states: true,
            check_determinism: settings.min_bound == 0 && !settings.keep_going,
        };
        let mut listener = |event: Event<'_>| self.tell(event);
        let mut explorer = Explorer::new(options);
        if self.channel.is_open() {
            explorer.listen(&mut listener);
        }
        let mut report = match settings.strategy {
            StrategyKind::DepthFirst => explorer.run(&mut DepthFirst::new(), &mut program),
            StrategyKind::ContextBounded if settings.reduction == ReductionKind::PartialOrder => {
                let mut search = PartialOrder::new(settings.max_bound).from_bound(settings.min_bound);
                explorer.run(&mut search, &mut program)
            }
            StrategyKind::ContextBounded => {
                let carries = settings.directory.is_some();
                let mut search = ContextBounded::new(settings.max_bound).carrying(carries);
                if settings.min_bound > 0 {
                    match self.load_frontier() {
                        Ok(Some((frontier, states))) => {
                            search.resume(settings.min_bound, frontier);
                            explorer.add_states(states);
                        }
                        Ok(None) => {}
                        Err(message) => {
                            self.channel.send(&Message::Refused { message: message.clone() });
                            panic!("icb: {message}");
                        }
                    }
                }
                let report = explorer.run(&mut search, &mut program);
                if carries && report.stopped.is_none() {
                    self.save_frontier(&mut search, explorer.states().iter().copied().collect());
                }
                report
            }
        };
        if let Some(failure) = &mut report.failure
            && !self.channel.is_open()
        {
            let promoted = program.promoted();
            drop(program);
            explain(failure, || {
                let mut program = CoroutineProgram::new(
                    f.clone(),
                    runtime::Settings { unwind_failed: false, ..self.runtime_settings() },
                    self.tape(),
                );
                program.set_promoted(promoted.clone());
                program
            });
        }
        report
    }

    fn tell(&self, event: Event<'_>) {
        let model = self.model;
        self.channel.send(&match event {
            Event::Progress { bound, frontier, done } => {
                Message::Progress { model, bound: bound.clone(), frontier, done }
            }
            Event::Bound(bound) => Message::Bound { model, bound: bound.clone(), frontier: None },
            Event::Failure(failure) => Message::Failure { model, failure: Box::new(failure.clone()) },
        });
    }

    /// Identifies what a frontier belongs to.
    fn frontier_key(&self) -> u64 {
        let settings = &self.settings;
        let text = format!(
            "{:?} {:?} {:?} {} {}",
            settings.granularity, settings.on_race, settings.reduction, settings.spurious, self.model
        );
        text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    }

    fn frontier_path(&self, bound: u32) -> Option<PathBuf> {
        Some(self.settings.directory.as_ref()?.join(format!("frontier-{}-{bound}", self.model)))
    }

    fn load_frontier(&self) -> Result<Option<(Frontier, Vec<u128>)>, String> {
        let Some(path) = self.frontier_path(self.settings.min_bound) else { return Ok(None) };
        match std::fs::read(&path) {
            Ok(bytes) => Frontier::from_file(&bytes, self.frontier_key())
                .map(Some)
                .map_err(|error| format!("{}: {error}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        }
    }

    fn save_frontier(&self, search: &mut ContextBounded, states: Vec<u128>) {
        let bound = search.bound() + 1;
        let (Some(frontier), Some(path)) = (search.take_frontier(), self.frontier_path(bound)) else {
            return;
        };
        let bytes = frontier.to_file(self.frontier_key(), &states);
        let temporary = path.with_extension("new");
        // Without the file the next bound is searched from bound 0 on: slower, not wrong.
        let _ = std::fs::write(&temporary, &bytes).and_then(|()| std::fs::rename(&temporary, &path));
    }

    fn replay(&self, f: &Closure, schedule: &Schedule) -> Report {
        let mut program = self.program(f);
        let _watchdog =
            Watchdog::start(program.heartbeat(), self.settings.watchdog, self.channel.clone(), self.model);
        let failure = loop {
            let mut chooser = Replay::new(schedule);
            let mut recorder = Recorder::new();
            let outcome = program.run(&mut chooser, Some(&mut recorder));
            if outcome.promoted {
                continue;
            }
            break finish_replay(outcome.end, &chooser, recorder, schedule);
        };
        let mut report = Report::default();
        match failure {
            Ok(failure) => {
                self.channel
                    .send(&Message::Failure { model: self.model, failure: Box::new(failure.clone()) });
                report.failure = Some(failure);
            }
            Err(passed) => {
                self.channel.send(&Message::ReplayPassed { model: self.model, failure: Box::new(passed) })
            }
        }
        report
    }
}

/// Joins how a replayed execution ended with what was recorded. `Err`: it passed.
fn finish_replay(
    end: End,
    chooser: &Replay,
    recorder: Recorder,
    schedule: &Schedule,
) -> Result<Failure, Failure> {
    let mut trace = recorder.into_trace();
    let (mut failure, passed) = match (end, chooser.message()) {
        (_, Some(message)) => (Failure::new(FailureKind::Divergence, message), false),
        (End::Failed(failure), None) => (*failure, false),
        (End::Passed | End::GivenUp, None) => {
            (Failure::new(FailureKind::Panic, "the schedule ends without a failure"), true)
        }
    };
    trace.failure_backtrace = std::mem::take(&mut failure.trace.failure_backtrace);
    if failure.schedule.entries().is_empty() || failure.kind == FailureKind::Divergence {
        failure.schedule = schedule.clone();
    }
    failure.bound = failure.schedule.preemption_count();
    trace.schedule = failure.schedule.clone();
    failure.trace = trace;
    if passed { Err(failure) } else { Ok(failure) }
}

/// Replays a failure in the same process, to fill in its trace. A replay that does not fail in the same way is a
/// divergence.
fn explain<P: Program>(failure: &mut Failure, program: impl FnOnce() -> P) {
    if failure.kind == FailureKind::Divergence || failure.kind == FailureKind::StackOverflow {
        return;
    }
    let mut chooser = Replay::new(&failure.schedule);
    let mut recorder = Recorder::new();
    let outcome = program().run(&mut chooser, Some(&mut recorder));
    let replayed = finish_replay(outcome.end, &chooser, recorder, &failure.schedule);
    let execution = failure.execution;
    match replayed {
        Ok(replayed) if replayed.kind == failure.kind || replayed.kind == FailureKind::Divergence => {
            *failure = replayed
        }
        Ok(other) | Err(other) => {
            let message = format!(
                "the failure ({failure}) did not come back when its schedule was replayed: the test depends on something \
                 outside the model (the real clock, random hashing, an address, a global, a file)"
            );
            *failure = Failure { kind: FailureKind::Divergence, message, ..other };
        }
    }
    failure.execution = execution;
}

fn map_file(path: &std::path::Path, size: usize) -> std::io::Result<memmap2::MmapMut> {
    let file = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    file.set_len(size as u64)?;
    // SAFETY: the file is this process's own; others only read it, after or while it is written, and take what they
    // find for bytes.
    unsafe { memmap2::MmapMut::map_mut(&file) }
}
