//! The work of one `model` or `check`: explore or replay, tell whoever listens, carry what is left to the next process.

use super::builder::{OnRace, ReductionKind};
use super::channel::Channel;
use super::fork;
use super::isolated::{Isolated, Knowledge};
use super::printed::Printed;
use super::replayed::{Replayed, explain};
use super::settings::Settings;
use super::strategies::{leave_bounds_out, limits, search_those_left_out, strategy, with_bounds_before};
use super::watchdog::Watchdog;
use crate::explore::{Event, Explorer, Options};
use crate::observe::{Recorder, Signature};
use crate::program::{Outcome, Program, Strategy};
use crate::recording::Tape;
use crate::runtime::{self, CoroutineProgram, Promoted};
use crate::search::{ContextBounded, Frontier, Replay, Spill};
use crate::trace::{BoundReport, Message, PRINTED, Report, Schedule, StrategyKind};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Stack beyond what the threads have, where one execution is replayed: for taking backtraces.
pub(super) const REPLAY_RESERVE: usize = 512 * 1024;

/// So many other assignments of random numbers are tried, to see whether a test depends on them.
const OTHER_SEEDS: u64 = 3;

/// What lower bounds have left for this one and for those after it, and the states that they have reached.
type Carried = (Vec<Frontier>, Vec<u128>);

/// One exploration at a time: statics of the program are shared by all of them.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What is explored.
pub(super) type Closure = Arc<dyn Fn() + Send + Sync>;

/// One exploration, or one replay, with those who are told about it.
pub(super) struct Worker {
    pub(super) settings: Settings,
    pub(super) channel: Channel,
    pub(super) model: u32,
}

impl Worker {
    /// Explores, or replays what the settings say.
    pub(super) fn run(mut self, f: &Closure) -> Report {
        runtime::refuse_inside_a_model();
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let replay = self.settings.replay.take();
        // A failure shows with threads of their own too, or it is none.
        self.settings.sequential &= replay.is_none();
        let elsewhere =
            replay.is_some() && self.settings.replay_model.is_some_and(|wanted| wanted != self.model);
        self.channel.send(&Message::Started {
            model: self.model,
            pid: std::process::id(),
            min_bound: self.settings.min_bound,
            max_bound: self.settings.max_bound,
        });
        if elsewhere && self.settings.isolated {
            // Another model of this test is being replayed, for which this one has left nothing behind.
            return Report::default();
        }
        if elsewhere {
            // Another model of this test is being replayed: this one only has to lead there.
            self.settings.max_bound = Some(0);
            self.settings.max_executions = Some(1);
            self.settings.channel = None;
            self.channel = Channel::default();
            return self.search(f).0;
        }
        let report = match replay {
            Some(schedule) => {
                // Whatever the search allowed.
                self.settings.max_early = Some(u32::MAX);
                match self.settings.replay_dies {
                    Some(death) => {
                        self.explain_death(f, &schedule, death);
                        // Nobody asks what the test does afterwards.
                        fork::do_and_end(|| ())
                    }
                    None => self.replay(f, &schedule),
                }
            }
            None => self.search_for_least(f),
        };
        self.channel.send(&Message::Finished { model: self.model, report: Box::new(report.clone()) });
        report
    }

    pub(super) fn runtime_settings(&self) -> runtime::Settings {
        runtime::Settings {
            granularity: self.settings.granularity,
            spurious: self.settings.spurious,
            auto_advance: self.settings.auto_advance,
            weak_memory: self.settings.weak_memory,
            max_early: self.max_early(),
            idle_turns: true,
            // Where `cargo icb` has started the process it runs one test.
            owns_statics: self.settings.channel.is_some(),
            promote: self.settings.on_race == OnRace::Promote,
            max_steps: self.settings.max_steps,
            stack_size: self.settings.stack_size,
            // Its failure is recorded where it is found.
            stack_reserve: if self.settings.isolated { REPLAY_RESERVE } else { 0 },
            unwind_failed: self.settings.keep_going,
            check_leaks: self.settings.check_leaks,
            check_frees: self.settings.check_frees,
            reuse_addresses: self.settings.reuse_addresses,
            allow_unjoined_panics: self.settings.allow_unjoined_panics,
            run_out: self.settings.run_out,
            sequential: self.settings.sequential,
            detached: self.settings.detached,
            fixed_hashing: self.settings.fixed_hashing,
            random_seed: self.settings.random_seed,
        }
    }

    /// What the bound can pay for, and what the next one can, whose beginnings are found with this one; without a bound there has to
    /// be an end.
    fn max_early(&self) -> u32 {
        let few = runtime::Settings::default().max_early;
        let of_bound = self.settings.max_bound.map_or(few, |bound| bound.saturating_add(1).max(few));
        self.settings.max_early.unwrap_or(of_bound)
    }

    pub(super) fn program(&self, f: &Closure, stack_reserve: usize) -> CoroutineProgram {
        let settings = self.runtime_settings();
        let stack_reserve = stack_reserve.max(settings.stack_reserve);
        let settings = runtime::Settings { stack_reserve, ..settings };
        let mut program = CoroutineProgram::new(f.clone(), settings, self.tape());
        program.set_model(self.model);
        if self.settings.isolated {
            program.set_isolated();
        }
        program
    }

    /// Choices are recorded in a mapped file where there is a directory, so that they survive an abort.
    fn tape(&self) -> Tape {
        let capacity = (self.settings.max_steps as usize).saturating_mul(2).clamp(1024, 1 << 28);
        let mapped = self.file("flight").and_then(|path| map_file(&path, Tape::byte_count(capacity)).ok());
        mapped.map_or_else(|| Tape::new(capacity), Tape::mapped)
    }

    pub(super) fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.settings.directory.as_ref()?.join(format!("{name}-{}", self.model)))
    }

    /// Searches. Where nothing was known of lower bounds when a failure was found, these are searched for one with fewer preemptions;
    /// where `cargo icb` steers, it sees to that.
    fn search_for_least(&mut self, f: &Closure) -> Report {
        // This process runs one failure only where each execution has its own.
        let steered = self.channel.is_open() || self.settings.isolated;
        let least = if steered { None } else { leave_bounds_out(&mut self.settings) };
        let Some(least) = least else { return self.search_and_explain(f) };
        let (first, promoted) = self.search(f);
        if search_those_left_out(&mut self.settings, least, &first) {
            let report = self.search_and_explain(f);
            if report.failure.is_some() {
                return with_bounds_before(report, first, least);
            }
        }
        self.explained(f, first, &promoted)
    }

    fn search_and_explain(&self, f: &Closure) -> Report {
        let (report, promoted) = self.search(f);
        self.explained(f, report, &promoted)
    }

    fn search(&self, f: &Closure) -> (Report, Promoted) {
        let settings = &self.settings;
        let mut program = self.program(f, 0);
        // Whether nothing is known from lower bounds.
        let first = settings.min_bound == 0 || settings.at_once;
        if !first {
            self.load_points(&mut program);
        }
        let mut knowledge = Knowledge::of(&program);
        if let Some((path, key)) = self.journal().filter(|_| settings.isolated) {
            knowledge.keep_in(path.with_extension("learned"), key, &mut program);
        }
        let knowledge = Rc::new(knowledge);
        let watchdog =
            Watchdog::start(program.heartbeat(), settings.watchdog, self.channel.clone(), self.model);
        let checks = first && !settings.keep_going && !settings.sequential;
        let options = Options {
            limits: limits(settings),
            stop_at_failure: !settings.keep_going,
            count_states: true,
            measured_executions: settings.measured_executions,
            // Its executions are not nested.
            check_determinism: checks && !settings.isolated,
        };
        let mut listener = |event: Event<'_>| self.tell(event);
        let mut explorer = Explorer::new(options);
        if self.channel.is_open() {
            explorer.listen(&mut listener);
        }
        let mut report = match settings.strategy {
            StrategyKind::ContextBounded if settings.reduction == ReductionKind::None => {
                let carries = settings.directory.is_some();
                let spill = self.spill();
                let mut search =
                    ContextBounded::new(settings.max_bound).carrying(carries).spilling(spill.clone());
                if !first {
                    match self.load_frontiers(spill.as_ref()) {
                        Ok(Some((frontiers, states))) => {
                            search.resume(settings.min_bound, frontiers);
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
                    self.save_frontiers(&mut search, explorer.states().iter().copied().collect());
                }
                report
            }
            StrategyKind::ContextBounded if settings.reduction == ReductionKind::PartialOrder => {
                if settings.isolated {
                    let program = self.isolated(&mut program, &knowledge, &watchdog);
                    let mut program = if self.channel.is_open() { program } else { program.recording() };
                    if checks {
                        explorer.check_determinism(&mut || program.default_execution());
                    } else {
                        // Whether it makes files has to be known before several run it at a time.
                        program.default_execution();
                    }
                    let mut report =
                        self.search_in_parts(f, &mut explorer, &mut program, &watchdog, &knowledge);
                    if let (Some(failure), Some(trace)) = (&mut report.failure, program.take_trace()) {
                        failure.take_over(trace);
                    }
                    report
                } else {
                    self.search_in_parts(f, &mut explorer, &mut program, &watchdog, &knowledge)
                }
            }
            _ => explorer.run(&mut *strategy(settings), &mut program),
        };
        // What the claim is of, where there is one.
        let claims = first && !settings.sequential && report.failure.is_none() && report.stopped.is_none();
        let one_assignment = claims
            && settings.fixed_hashing
            && self.depends_on_random_numbers(&mut program, &knowledge, &watchdog);
        let is_shared = report.bounds.iter().any(|bound| bound.max_threads > 1);
        let asks = settings.looks_for_stale_values && !settings.weak_memory;
        let stale_left_out = claims && is_shared && asks && {
            if settings.isolated {
                self.isolated(&mut program, &knowledge, &watchdog).whether(could_read_stale_values)
            } else {
                could_read_stale_values(&mut program)
            }
        };
        let clock_left_out = settings.reduction != ReductionKind::None
            && (program.clock_matters() || knowledge.clock_matters());
        for bound in &mut report.bounds {
            bound.clock_left_out = clock_left_out;
            self.say_what_of(bound);
            bound.one_assignment = one_assignment;
            bound.stale_left_out = stale_left_out;
        }
        self.save_points(&program);
        (report, program.promoted())
    }

    /// Replays a failure to learn its trace, unless `cargo icb` does that.
    fn explained(&self, f: &Closure, mut report: Report, promoted: &Promoted) -> Report {
        if let Some(failure) = &mut report.failure
            && !self.channel.is_open()
            && !self.settings.isolated
        {
            explain(failure, || {
                let mut program = CoroutineProgram::new(
                    f.clone(),
                    runtime::Settings { unwind_failed: false, sequential: false, ..self.runtime_settings() },
                    self.tape(),
                );
                program.set_promoted(promoted.clone());
                program
            });
        }
        report
    }

    /// How long an execution may take that has a process of its own: steps are not watched there.
    pub(super) fn fork_patience(&self) -> Duration {
        self.settings.watchdog * 3
    }

    /// The program whose executions are run elsewhere.
    fn isolated<'a>(
        &self,
        program: &'a mut CoroutineProgram,
        knowledge: &Rc<Knowledge>,
        watchdog: &Watchdog,
    ) -> Isolated<'a> {
        Isolated::new(program, knowledge.clone(), self.fork_patience(), watchdog.resting())
    }

    /// Whether the execution of the default choices is another one with other random numbers.
    fn depends_on_random_numbers(
        &self,
        program: &mut CoroutineProgram,
        knowledge: &Rc<Knowledge>,
        watchdog: &Watchdog,
    ) -> bool {
        let mut run = |seed: u64| {
            program.set_random_seed(seed);
            if self.settings.isolated {
                return self.isolated(program, knowledge, watchdog).default_execution().0;
            }
            Signature::of_default(program).0
        };
        let seed = self.settings.random_seed;
        let here = run(seed);
        let depends = (1..=OTHER_SEEDS).any(|other| run(seed.wrapping_add(other)).goes_another_way(&here));
        program.set_random_seed(seed);
        depends
    }

    /// What is claimed of the bound is claimed with these settings.
    fn say_what_of(&self, bound: &mut BoundReport) {
        bound.weak_memory = self.settings.weak_memory;
        bound.isolated = self.settings.isolated;
        bound.assignments = self.settings.assignments;
        bound.reuses_addresses = self.settings.reuse_addresses;
    }

    fn tell(&self, event: Event<'_>) {
        let model = self.model;
        let named = |bound: &BoundReport| {
            let mut bound = bound.clone();
            self.say_what_of(&mut bound);
            bound
        };
        self.channel.send(&match event {
            Event::Progress { bound, frontier, done } => {
                Message::Progress { model, bound: named(bound), frontier, done }
            }
            Event::Bound(bound) => Message::Bound { model, bound: named(bound), frontier: None },
            Event::Failure(failure) => Message::Failure { model, failure: Box::new(failure.clone()) },
        });
    }

    /// Identifies what a frontier belongs to.
    fn frontier_key(&self) -> u64 {
        let settings = &self.settings;
        let text = format!(
            "{:?} {:?} {:?} {} {} {} {} {} {}",
            settings.granularity,
            settings.on_race,
            settings.reduction,
            settings.spurious,
            settings.auto_advance,
            settings.weak_memory,
            settings.random_seed,
            settings.reuse_addresses,
            self.model
        );
        text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    }

    fn frontier_path(&self, bound: u32) -> Option<PathBuf> {
        Some(self.settings.directory.as_ref()?.join(format!("frontier-{}-{bound}", self.model)))
    }

    /// Takes over what lower bounds have found out about memory, in other processes: which places are scheduling points,
    /// which part of a stack is shared.
    fn load_points(&self, program: &mut CoroutineProgram) {
        // Without the file they are found again, and the search begins anew.
        let text =
            self.file("points").and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        program.take_over_text(&text);
    }

    fn save_points(&self, program: &CoroutineProgram) {
        let text = program.promoted_text();
        if let Some(path) = self.file("points").filter(|_| !text.trim().is_empty()) {
            // See `load_points`.
            let _ = std::fs::write(path, text);
        }
    }

    /// Where work for later bounds goes, if it is to.
    fn spill(&self) -> Option<Arc<Spill>> {
        let directory = self.settings.spill.as_ref()?;
        let channel = self.channel.clone();
        let refuse = move |message: &str| channel.send(&Message::Refused { message: message.to_owned() });
        Some(Arc::new(Spill::new(directory, Box::new(refuse))))
    }

    fn load_frontiers(&self, spill: Option<&Arc<Spill>>) -> Result<Option<Carried>, String> {
        let Some(path) = self.frontier_path(self.settings.min_bound) else { return Ok(None) };
        match File::open(&path) {
            Ok(file) => Frontier::read_file(BufReader::new(file), self.frontier_key(), spill)
                .map(Some)
                .map_err(|error| format!("{}: {error}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        }
    }

    fn save_frontiers(&self, search: &mut ContextBounded, states: Vec<u128>) {
        let bound = search.bound() + 1;
        let mut frontiers = search.take_frontiers();
        let Some(path) = self.frontier_path(bound).filter(|_| !frontiers.is_empty()) else { return };
        let temporary = path.with_extension("new");
        let written = File::create(&temporary).and_then(|file| {
            Frontier::write_file(&mut frontiers, BufWriter::new(file), self.frontier_key(), &states)?;
            std::fs::rename(&temporary, &path)
        });
        if written.is_err() {
            // Without the file the next bound is searched from bound 0 on: slower, not wrong.
            let _ = std::fs::remove_file(&temporary);
        }
    }

    /// Runs and records an execution; what it prints goes to a file beside its flight recording.
    pub(super) fn record(
        &self,
        program: &mut CoroutineProgram,
        chooser: &mut Replay,
        recorder: &mut Recorder<'_>,
    ) -> Outcome {
        let printed = self.file(PRINTED).and_then(|path| Printed::to(&path));
        if let Some(length) = printed.as_ref().and_then(Printed::length) {
            recorder.watch_printed(length);
        }
        program.run(chooser, Some(recorder))
    }

    fn replay(&self, f: &Closure, schedule: &Schedule) -> Report {
        let mut program = self.program(f, REPLAY_RESERVE);
        program.promote_points(schedule.points());
        let watchdog =
            Watchdog::start(program.heartbeat(), self.settings.watchdog, self.channel.clone(), self.model);
        if self.settings.isolated {
            let knowledge = Rc::new(Knowledge::of(&program));
            self.isolated(&mut program, &knowledge, &watchdog).rehearse(schedule);
        }
        let elsewhere = self.who_explains(f, &program.promoted());
        let replayed = loop {
            let mut chooser = Replay::new(schedule);
            let tell = |piece| self.channel.send(&Message::Traced { model: self.model, piece });
            let mut recorder = if self.channel.is_open() { Recorder::telling(tell) } else { Recorder::new() };
            let outcome = self.record(&mut program, &mut chooser, &mut recorder);
            if !outcome.promoted {
                break Replayed::new(outcome.end, &chooser, recorder, schedule);
            }
        };
        let (model, failure) = (self.model, Box::new(replayed.failure.clone()));
        let mut report = Report::default();
        if replayed.passed {
            self.channel.send(&Message::ReplayPassed { model, failure });
        } else {
            self.channel.send(&Message::Failure { model, failure });
            drop(watchdog);
            self.explain(f, replayed.failure.clone(), &program.promoted(), elsewhere);
            report.failure = Some(replayed.failure);
        }
        report
    }
}

/// Whether the program would have had stale values to read under weak memory.
fn could_read_stale_values(program: &mut CoroutineProgram) -> bool {
    program.set_weak_memory(true);
    let (_, _) = Signature::of_default(program);
    program.set_weak_memory(false);
    program.could_read_stale_values()
}

fn map_file(path: &std::path::Path, size: usize) -> std::io::Result<memmap2::MmapMut> {
    let file = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    file.set_len(size as u64)?;
    reserve(&file, size)?;
    // SAFETY: the file is this process's own; others only read it, after or while it is written, and take what they
    // find for bytes.
    unsafe { memmap2::MmapMut::map_mut(&file) }
}

/// Takes room on the disk for a file that is written through memory: on a full one the first access would end the process. Not for what is
/// very large, which is hardly ever filled; and a file system that cannot do it may do without.
#[cfg(target_os = "linux")]
fn reserve(file: &std::fs::File, size: usize) -> std::io::Result<()> {
    use std::io::{Error, ErrorKind};
    use std::os::fd::AsRawFd;
    let size = size.min(MAX_RESERVED);
    // SAFETY: a plain system call on a file that is open.
    let done = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, size as libc::off_t) };
    match Error::last_os_error() {
        error if done != 0 && matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &std::fs::File, _: usize) -> std::io::Result<()> {
    Ok(())
}

/// So many bytes are reserved at most.
#[cfg(target_os = "linux")]
const MAX_RESERVED: usize = 16 << 20;
