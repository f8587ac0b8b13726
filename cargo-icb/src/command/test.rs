//! `cargo icb test`: builds, runs the plan, stores and replays what fails, and tells.

mod afterwards;
mod assembly;
mod at_once;
mod contradictions;
mod expected;
mod finding;
mod going_on;
mod progress;

use super::select;
use crate::cargo::attempt::Note;
use crate::cargo::build::{self, Build};
use crate::cargo::metadata::Workspace;
use crate::cargo::tests::Test;
use crate::cli::TestArgs;
use crate::event::{Event, Finished, Tally, search_words};
use crate::exit_code::{Error, Exit};
use crate::interrupt::Interrupt;
use crate::report::console::REDRAW;
use crate::report::json::LeftOut;
use crate::report::output::Output;
use crate::resume::{Parts, Rounds};
use crate::runs::Recorder;
use crate::settings::{Bound, Search};
use crate::shard;
use crate::store::{Store, test_path};
use crate::worker::budget::{self, Budget, End};
use crate::worker::flight;
use crate::worker::plan::{Plan, Task};
use crate::worker::pool::{self, Done};
use crate::worker::process::{self, Launch, Outcome, Stop};
use crate::worker::replay::{self, Replay, Replayed};
use crate::worker::tokens::Tokens;
use crate::worker::verdict::{Verdict, figures, judge};
use icb_core::trace::table::without_registries;
use icb_core::trace::{
    BoundReport, COMPUTES, Failure, FailureKind, Message, ScheduleEntry, SourceLocation, StrategyKind,
};
use progress::lock;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Instant;

/// How long a test may take that is run once, for real, where no other limit is set. What is no model may well never end (it
/// spins, or waits for what nobody does), and the other tests wait for its place.
const MAX_REAL_SECONDS: f64 = 60.0;
/// The same for a test that spins for ever, as it seems.
const MAX_SPINNING_SECONDS: f64 = 3.0;

/// Runs the command.
pub(crate) fn run(arguments: &TestArgs) -> Result<Exit, Error> {
    contradictions::check(arguments)?;
    let workspace = Workspace::load(&arguments.build)?;
    let lock = workspace.lock()?;
    if arguments.shard.is_some() {
        shard::check_directory(&progress::shard_directory(arguments, &workspace))?;
    }
    let interrupt = Interrupt::listen();
    let build = interrupt.beforehand(|| build::build(&workspace, &arguments.targets, &arguments.build))?;
    let tests = select(&workspace, &build, &arguments.build, &arguments.filters, &arguments.filter)?;
    // Shards have directories of their own, and may run side by side.
    let lock = arguments.shard.is_none().then_some(lock);
    let run = Run {
        arguments,
        workspace: &workspace,
        tests: &tests,
        store: Store::new(&workspace.directory),
        interrupt,
        budget: Budget::new(
            tests.len(),
            arguments.build.job_count(),
            arguments.run_time,
            arguments.run_executions,
        ),
        rounds: progress::load(arguments, &workspace, &tests)?,
        parts: Mutex::default(),
        tokens: Tokens::new(&progress::work(arguments, &workspace)),
        afterwards: Mutex::default(),
        isolated: Mutex::default(),
        narrowed: Mutex::default(),
    };
    let started = Instant::now();
    let names = tests.iter().map(|test| test.id.to_string()).collect();
    let recorder = lock.as_ref().map(|_| Recorder::new(&workspace.directory));
    let mut output = Output::new(&arguments.output, names, &workspace.root, arguments.full, recorder);
    let left_out = left_out(&build);
    output.start(arguments.max_bound, left_out.clone());
    run.introduce(&mut output, &build);
    let tally = run.explore(&mut output);
    // Before anything is told: what cannot be told must not be lost.
    let shard = arguments.shard.map(|shard| (shard, run.write_shard(shard, &tally, left_out)));
    let exit = output.conclude(&tally, started.elapsed().as_secs_f64(), run.interrupt.is_set());
    if let Some((shard, path)) = shard {
        output.line(&format!(
            "Shard {shard}: its result is {}; `cargo icb merge` puts all together.",
            path?.display()
        ));
    }
    let exit = exit?;
    if let Some(words) = run.going_on(&tally, exit) {
        output.line(&words);
    }
    Ok(exit)
}

struct Run<'a> {
    arguments: &'a TestArgs,
    workspace: &'a Workspace,
    tests: &'a [Test<'a>],
    store: Store,
    interrupt: Interrupt,
    budget: Budget,
    /// What has been proved of each test.
    rounds: Vec<Mutex<Rounds>>,
    /// By test and bound what a shard has done.
    parts: Mutex<BTreeMap<(usize, u32), Parts>>,
    tokens: Tokens,
    /// Tests that have failed outside their models although those held, and at which bound.
    afterwards: Mutex<BTreeMap<usize, u32>>,
    /// Tests that have diverged, and whose executions have processes of their own since.
    isolated: Mutex<BTreeSet<usize>>,
    /// Tests that are searched bound by bound although their last bound was to be searched at once.
    narrowed: Mutex<BTreeMap<usize, at_once::Shown>>,
}

impl Run<'_> {
    fn strategy(&self) -> StrategyKind {
        self.arguments.search.strategy()
    }

    /// The variables with which a process searches the bounds of a task.
    fn environment(&self, Task { min_bound, test, max_bound }: Task) -> Vec<(&'static str, String)> {
        let mut environment = self.search_of(test).environment();
        environment.push(("ICB_MIN_BOUND", min_bound.to_string()));
        environment.push(("ICB_MAX_BOUND", max_bound.to_string()));
        if self.arguments.max_bound == Bound::Unlimited && self.arguments.search.max_early.is_none() {
            // Where bounds are searched until nothing is left, what waits in a loop may not go on early as often as they let it.
            environment.push(("ICB_MAX_EARLY", "3".to_owned()));
        }
        environment
    }

    fn introduce(&self, console: &mut Output<'_>, build: &Build) {
        for remark in &build.remarks {
            console.line(remark);
        }
        for target in &build.skipped {
            console.line(&format!("     skipped {target}: it has a test harness of its own"));
        }
        console.line(&format!(
            "     Running {} test{} in {} executable{}, {}, {} at a time",
            self.tests.len(),
            if self.tests.len() == 1 { "" } else { "s" },
            build.executables.len(),
            if build.executables.len() == 1 { "" } else { "s" },
            search_words(self.arguments.max_bound, self.strategy(), self.arguments.at_once),
            self.arguments.build.job_count(),
        ));
        if self.arguments.search.spurious == Some(false) {
            console.line(
                "        Note --spurious=false: what is proved is proved of executions in which no wait wakes and no weak exchange fails for no reason",
            );
        }
        if self.arguments.search.auto_advance == Some(true) {
            console.line(
                "        Note --auto-advance: what is proved is proved of executions in which no sleep and no timeout is over while a thread can go on",
            );
        }
        if self.arguments.build.job_count() > 1
            && let Some(option) = self.arguments.search.searched_alone()
        {
            console.line(&format!(
                "        Note {option}: one process searches each test; only the default search is shared out among several"
            ));
        }
    }

    /// Runs everything; the tally is made of the same events that are shown.
    fn explore(&self, console: &mut Output<'_>) -> Tally {
        let mut tally = Tally::new(self.tests.len()).of_shard(self.arguments.shard);
        let at_once = self.arguments.at_once;
        let plan = Plan::new(self.tests.len(), self.arguments.max_bound, self.strategy(), at_once);
        let (sender, events) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sender = sender;
                let jobs = self.arguments.build.job_count();
                pool::run(plan, jobs, &self.tokens, |task| self.work(task, &sender));
            });
            loop {
                match events.recv_timeout(REDRAW) {
                    Ok(event) => {
                        tally.note(&event);
                        console.event(&event);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                console.tick();
            }
        });
        tally
    }

    /// One task: a process, its verdict, and for a failure its replay. No verdict: it is to go on later.
    fn work(&self, task: Task, events: &Sender<Event>) -> Option<Done> {
        // The receiver lives as long as the pool.
        let tell = |event| drop(events.send(event));
        if let Some(finished) = self.known(task) {
            self.budget.finish(task.test, finished.figures.as_ref().map_or(0, |figures| figures.executions));
            let (verdict, steps) = (finished.verdict.clone(), steps(finished.figures.as_ref()));
            tell(Event::Finished(Box::new(finished)));
            self.leave_after(task, &verdict);
            return Some(Done { verdict, steps });
        }
        tell(Event::Started { task });
        let started = Instant::now();
        let share = self.budget.share(self.is_journaled());
        let shared = AtomicBool::new(false);
        let stop = || self.stopped(share, &shared);
        if let Some(reason) = stop() {
            let (figures, seconds) = self.together(task, None, 0.0, true);
            let told = self.narrowed(task, Verdict::Incomplete { reason });
            let steps = steps(figures.as_ref());
            return Some(Done { verdict: self.conclude(task, figures, seconds, told, tell), steps });
        }
        let (mut outcome, mut verdict) = self.search(task, &stop, &tell);
        if self.is_to_be_isolated(task, &verdict) {
            let (isolated, found) = self.search(task, &stop, &tell);
            if self.comes_again(task, &found) {
                (outcome, verdict) = (isolated, found);
            }
        }
        let figures = outcome.as_ref().and_then(figures);
        let is_stopped = matches!(verdict, Verdict::Incomplete { .. });
        let (figures, seconds) = self.together(task, figures, started.elapsed().as_secs_f64(), is_stopped);
        // A process counts from 1; people count over all bounds.
        let count = figures.as_ref().map_or(0, |figures| figures.executions);
        if shared.load(Ordering::Relaxed) && is_stopped && self.is_journaled() {
            self.budget.note(task.test, count);
            return None;
        }
        let before = self.budget.finish(task.test, count);
        let thread_count = figures.as_ref().map_or(0, |figures| figures.max_threads);
        let verdict = self.as_counted(task, verdict, before, thread_count);
        let told = match self.is_at_once(task) {
            true => self.at_once(task, outcome.as_ref(), verdict),
            false => self.narrowed(task, verdict),
        };
        let steps = steps(figures.as_ref());
        Some(Done { verdict: self.conclude(task, figures, seconds, told, tell), steps })
    }

    /// Why a task does not go on. `shared`: becomes true if that is because its `share` of the run's time is over.
    fn stopped(&self, share: Option<Instant>, shared: &AtomicBool) -> Option<String> {
        if self.interrupt.is_set() {
            return Some(going_on::INTERRUPTED.to_owned());
        }
        Some(match self.budget.end(share)? {
            End::Run(reason) => reason.to_owned(),
            End::Share => {
                shared.store(true, Ordering::Relaxed);
                "stopped after its share of the run's time".to_owned()
            }
        })
    }

    /// Runs the process of a task: what it has told, if it could be run, and what that means.
    fn search(&self, task: Task, stop: Stop<'_>, tell: &impl Fn(Event)) -> (Option<Outcome>, Verdict) {
        let directory = self.directory(task);
        let executions_left = self.executions_left(task);
        let launch = Launch {
            test: &self.tests[task.test],
            directory: directory.clone(),
            environment: self.environment_of(task, executions_left),
            watchdog: self.arguments.search.watchdog,
            limit: self.arguments.search.max_time,
            stop,
        };
        let outcome = process::run(&launch, &mut |message| {
            if let Message::Progress { bound, done, .. } = message {
                self.budget.note(task.test, bound.executions);
                tell(Event::Progress { task, bound: bound.clone(), done: *done });
            }
        });
        let mut outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return (None, not_run(&launch, &error)),
        };
        let parts = outcome.models.iter_mut().filter_map(|(&model, told)| Some((model, told.part.take()?)));
        lock(&self.parts).insert((task.test, task.min_bound), parts.collect());
        let mut verdict = judge(&outcome, |model| flight::read(&directory, model));
        let is_of_run = executions_left.is_some() && outcome.has_stopped_by_executions();
        if let (true, Verdict::Incomplete { reason }) = (is_of_run, &mut verdict) {
            *reason = budget::OUT_OF_EXECUTIONS.to_owned();
        }
        let mut verdict = self.weigh(task, &outcome, verdict, stop);
        if let Verdict::FailsAsExpected { stale, .. } = &mut verdict {
            *stale = self.took_stale_value(task, &outcome);
        }
        (Some(outcome), verdict)
    }

    /// Whether a test is to be searched again with a process for each execution: it has diverged, and may not do so when nothing is there that
    /// an earlier execution has left behind. From now on it is searched so.
    fn is_to_be_isolated(&self, task: Task, verdict: &Verdict) -> bool {
        let diverges = |failure: &Failure| failure.kind == FailureKind::Divergence;
        let may = matches!(verdict, Verdict::Failed { failure, .. } if diverges(failure))
            && cfg!(unix)
            && self.tests[task.test].executable.unchanged
            // Shards make one plan, and each would decide for itself.
            && self.arguments.shard.is_none()
            && self.arguments.search.isolated.is_none()
            && self.arguments.search.searched_alone().is_none();
        may && lock(&self.isolated).insert(task.test)
    }

    /// Whether what was found of a test that diverges otherwise can be relied on: a failure comes again, and is none of the model's limits.
    fn comes_again(&self, task: Task, verdict: &Verdict) -> bool {
        let Verdict::Failed { model, failure } = verdict else { return true };
        if failure.kind == FailureKind::StepLimit {
            return false;
        }
        let search = &self.search_of(task.test);
        matches!(self.replay(task, *model, failure, search), Replayed::Fails(_))
    }

    /// Runs the schedule of a failure again.
    fn replay(&self, task: Task, model: u32, failure: &Failure, search: &Search) -> Replayed {
        let directory = self.directory(task).join("replay");
        let (test, schedule) = (&self.tests[task.test], &failure.schedule);
        replay::run(Replay { test, model, schedule, search, directory })
    }

    /// How a test is searched.
    fn search_of(&self, test: usize) -> Search {
        let isolated = if self.is_isolated(test) { Some(true) } else { self.arguments.search.isolated };
        Search { isolated, ..self.arguments.search.clone() }
    }

    /// Whether each execution of a test has a process of its own.
    fn is_isolated(&self, test: usize) -> bool {
        self.arguments.search.isolated == Some(true) || lock(&self.isolated).contains(&test)
    }

    /// The variables of a task's process.
    fn environment_of(&self, task: Task, executions_left: Option<u64>) -> Vec<(&'static str, String)> {
        let mut environment = self.environment(task);
        if self.is_at_once(task) {
            environment.push(("ICB_AT_ONCE", "1".to_owned()));
        }
        if let Some(shard) = self.arguments.shard {
            environment.push(("ICB_SHARD", shard.to_string()));
        }
        if let Some(count) = executions_left {
            environment.push(("ICB_MAX_EXECUTIONS", count.to_string()));
        }
        if self.arguments.spill {
            environment.push(("ICB_SPILL", self.directory(task).display().to_string()));
        }
        if let Some(path) = self.tokens.path() {
            environment.push(("ICB_JOURNAL_KEY", lock(&self.rounds[task.test]).key.clone()));
            environment.push(("ICB_WORKERS", self.arguments.build.job_count().to_string()));
            environment.push(("ICB_TOKENS", path.display().to_string()));
        }
        environment
    }

    /// The verdict on a test that has had so many executions `before`, and so many threads. What cannot be explored as it is, is run as it is.
    fn as_counted(&self, task: Task, mut verdict: Verdict, before: u64, thread_count: u32) -> Verdict {
        if let Verdict::Failed { failure, .. } = &mut verdict {
            failure.execution += before;
            if self.tests[task.test].executable.unchanged {
                let most = self.arguments.search.max_time.unwrap_or(MAX_REAL_SECONDS);
                if let Some(reason) = unmodelled(failure) {
                    let root = format!("{}/", self.workspace.root.display());
                    let reason = reason.replace(&root, "");
                    return self.run_for_real(task, reason, most);
                }
                if let Some((reason, most)) = may_pass_for_real(failure, thread_count, most) {
                    let real = self.run_for_real(task, reason, most);
                    let goes_on_for_real = failure.kind == FailureKind::Livelock;
                    if matches!(real, Verdict::Unmodelled { .. })
                        || goes_on_for_real && matches!(real, Verdict::Ordinary { .. })
                    {
                        return real;
                    }
                }
            }
        }
        verdict
    }

    /// The end of a task, with what should be said of it beside the verdict: a failure is explained, what holds is kept, and both are told.
    fn conclude(
        &self,
        task: Task,
        figures: Option<BoundReport>,
        seconds: f64,
        (verdict, note): (Verdict, Option<String>),
        tell: impl Fn(Event),
    ) -> Verdict {
        let finding = match &verdict {
            Verdict::Failed { model, failure } => {
                tell(Event::Replaying { task });
                let mut finding = self.explain(task, *model, failure);
                finding.notes.extend(note);
                Some(finding)
            }
            _ => None,
        };
        let unchanged = self.tests[task.test].executable.unchanged;
        let finished = Finished { task, figures, seconds, verdict: verdict.clone(), finding, unchanged };
        self.keep(&finished);
        tell(Event::Finished(Box::new(finished)));
        self.leave_after(task, &verdict);
        verdict
    }

    /// How many executions a process may have because of the run's limit, where that is less than its own: it is looked at often, but
    /// quick searches run thousands in between. Searches that have a limit by themselves keep it.
    fn executions_left(&self, task: Task) -> Option<u64> {
        let left =
            self.budget.executions_left(Some(task.test)).filter(|_| self.strategy().is_by_preemptions())?;
        self.arguments.search.max_executions.is_none_or(|own| left < own).then_some(left)
    }

    /// A test that has no further bound leaves its time to the others.
    fn leave_after(&self, task: Task, verdict: &Verdict) {
        if task.next_bound(verdict, self.arguments.max_bound).is_none() {
            self.budget.leave();
        }
    }

    /// Runs a test that cannot be explored as it is, without a model, for so many seconds at most.
    fn run_for_real(&self, task: Task, reason: String, most: f64) -> Verdict {
        let began = Instant::now();
        let too_long = || {
            if self.interrupt.is_set() {
                Some(going_on::INTERRUPTED.to_owned())
            } else if self.budget.is_out_of_time() {
                Some(budget::OUT_OF_TIME.to_owned())
            } else if began.elapsed().as_secs_f64() >= most {
                Some(format!("not over after {most} s; --max-test-time sets another limit"))
            } else {
                None
            }
        };
        let launch = Launch {
            test: &self.tests[task.test],
            directory: self.directory(task).join("once"),
            environment: vec![("ICB_ONCE", "1".to_owned())],
            watchdog: None,
            limit: None,
            stop: &|| too_long().map(|stopped| format!("{reason}; so it was run once, for real ({stopped})")),
        };
        match judged(&launch).1 {
            Verdict::RunOnce => Verdict::Unmodelled { reason },
            Verdict::Ordinary { output } => {
                Verdict::Ordinary { output: format!("{output}\n(run once for real: {reason})") }
            }
            other => other,
        }
    }

    /// Where the process of a task keeps its files. The next bound finds there what this one leaves.
    fn directory(&self, task: Task) -> PathBuf {
        progress::work(self.arguments, self.workspace).join(test_path(&self.tests[task.test].id))
    }
}

/// Runs a process beside those of the plan: what it has told, if it could be run, and what that means.
fn judged(launch: &Launch<'_>) -> (Option<Outcome>, Verdict) {
    match process::run(launch, &mut |_| {}) {
        Ok(outcome) => {
            let verdict = judge(&outcome, |model| flight::read(&launch.directory, model));
            (Some(outcome), verdict)
        }
        Err(error) => (None, not_run(launch, &error)),
    }
}

fn not_run(launch: &Launch<'_>, error: &io::Error) -> Verdict {
    Verdict::Broken(format!("cannot run {}: {error}", launch.test.executable.path.display()))
}

/// Steps of a task's executions.
fn steps(figures: Option<&BoundReport>) -> u64 {
    figures.map_or(0, |figures| figures.steps)
}

/// The packages that could not be instrumented.
fn left_out(build: &Build) -> Vec<LeftOut> {
    let named = |note: &Note| {
        let Note { package, version, reason, .. } = note.clone();
        LeftOut { package, version, reason }
    };
    build.notes.iter().map(named).collect()
}

/// Why a failure of the only thread, in the only execution, may be the model's own: what looks like an endless loop may be a long one, and a panic may come of the model's clock. If the test
/// passes for real, within so many seconds, there is nothing to explore.
fn may_pass_for_real(failure: &Failure, thread_count: u32, most: f64) -> Option<(String, f64)> {
    let schedule = &failure.schedule;
    // Others may be there that have not begun. Where a step has several outcomes, it was the first.
    let is_first = |entry: &ScheduleEntry| {
        matches!(entry, ScheduleEntry::Run { .. } | ScheduleEntry::Branch { index: 0, .. })
    };
    let is_only = thread_count == 1 && schedule.has_one_thread() && schedule.entries().iter().all(is_first);
    if !is_only || failure.bound > 0 || failure.execution > 1 {
        return None;
    }
    let message = &failure.message;
    match failure.kind {
        FailureKind::Livelock => {
            Some((format!("one execution is too long to explore: {message}"), most.min(MAX_SPINNING_SECONDS)))
        }
        FailureKind::Panic => {
            let message = message.lines().next().unwrap_or_default();
            let place = failure.location.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
            Some((
                format!(
                    "its only thread fails in the model, where time passes only when somebody waits for it, and not for real: {message}{place}"
                ),
                most,
            ))
        }
        _ => None,
    }
}

/// Why a test that knows nothing of icb is no program that can be explored, if a failure says that. Where a limit on
/// steps was reached later than in the first execution, or a thread computes without end, it is a failure: then that depends on the schedule.
fn unmodelled(failure: &Failure) -> Option<String> {
    let first_line = failure.message.lines().next().unwrap_or_default();
    let is_first = failure.bound == 0 && failure.execution <= 1;
    match failure.kind {
        FailureKind::Divergence => {
            let at = |place: &SourceLocation| format!(" (where it differs it is at {place})");
            let place = failure.location.as_ref().map_or_else(String::new, at);
            Some(format!(
                "it does not follow its schedule: {}",
                without_registries(&(first_line.to_owned() + &place))
            ))
        }
        FailureKind::Blocked if !is_first && first_line.starts_with(COMPUTES) => None,
        FailureKind::Blocked if failure.thread.is_some() => Some(first_line.to_owned()),
        FailureKind::Blocked => {
            let what = first_line.split_once(": ").map_or(first_line, |(what, _)| what);
            Some(without_registries(what))
        }
        FailureKind::StepLimit if is_first => {
            let place =
                failure.location.as_ref().map_or_else(String::new, |place| format!(" (it ends at {place})"));
            Some(format!("one execution is too long to explore: {first_line}{place}"))
        }
        _ => None,
    }
}
