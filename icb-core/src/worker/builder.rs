//! `model` and `Builder`: what tests call.

use super::channel::Channel;
use super::environment;
use super::process::{Closure, Worker};
use super::settings::Settings;
use crate::model::Model;
use crate::program::Granularity;
use crate::trace::{Message, Report, Schedule, StrategyKind, table};
use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

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
    /// Each pair of a state and the thread that runs there is executed once, at the bound where it costs least: a table of
    /// what has been done, see [`Visited`](crate::reduction::Visited). To check the others, and to count states.
    Visited,
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

thread_local! {
    /// The same of this thread: where a process runs several tests, each has one, and is replayed alone.
    static NEXT_OF_TEST: Cell<u32> = const { Cell::new(0) };
}

impl<const EXPLORE: bool> Builder<EXPLORE> {
    /// Defaults: bounds 0 to 2, sync-only scheduling with race checking, no limits but 20,000 steps an execution; each
    /// overridden by its `ICB_*` variable.
    #[must_use]
    pub fn new() -> Self {
        let mut settings = Settings::default();
        let refused = settings.apply_defaults(environment::variable).err();
        Builder { settings, refused }
    }

    /// The last bound to search.
    #[must_use]
    pub fn max_bound(mut self, bound: u32) -> Self {
        self.settings.max_bound = Some(bound);
        self
    }

    /// Searches until no execution has more preemptions: bounds 0, 1 and 2, and then, with the default reduction, all executions. What fails
    /// among these is looked for again bound by bound, so that the failure that is reported has the fewest preemptions.
    #[must_use]
    pub fn unbounded(mut self) -> Self {
        self.settings.max_bound = None;
        self
    }

    /// Searches the last bound without those below it, or without a bound at all if there is no last one. A search that finds nothing
    /// has proved the same and is sooner done; its report tells of the last bound only. If something fails, the bounds are searched one after
    /// the other up to that failure's, for one with the fewest preemptions. Off by default: a search that does not come to its end then
    /// has proved as many bounds as it could. Only where bounds are of preemptions.
    #[must_use]
    pub fn at_once(mut self, at_once: bool) -> Self {
        self.settings.at_once = at_once;
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

    /// With [`StrategyKind::StackDiscipline`]: threads are nested calls on one stack, without coroutines, and what is freed is
    /// freed at once, so that valgrind and AddressSanitizer see an ordinary sequential program. No thread is abandoned half-way.
    #[must_use]
    pub fn sequential(mut self, sequential: bool) -> Self {
        self.settings.sequential = sequential;
        self
    }

    /// Counts blocking steps and preemptions in so many executions of each bound, for Theorem 1's bound.
    #[must_use]
    pub fn measured_executions(mut self, count: u64) -> Self {
        self.settings.measured_executions = count;
        self
    }

    /// With [`StrategyKind::StackDiscipline`]: how many spawned threads may wait to begin (any number unless set).
    #[must_use]
    pub fn max_pending(mut self, count: usize) -> Self {
        self.settings.max_pending = Some(count);
        self
    }

    /// Which executions are left out. Strategies other than iterative context bounding leave none out.
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

    /// Stops after so many executions, those that a reduction gives up half-way included; the report is then incomplete.
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

    /// Number of processes that search (1 unless set). What is found and counted does not depend on it. A search that
    /// becomes long is shared out among forks of this process, each with an address space of its own; one with another
    /// strategy or reduction than the default, with [`OnRace::Promote`] or with [`keep_going`](Self::keep_going) is not.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.settings.workers = count;
        self
    }

    /// Keeps what is left for the next bound in a file in this directory, as soon as it is more than 8 MiB. Only the search without
    /// reduction ([`ReductionKind::None`]) collects work for later bounds; the default search keeps a stack that does not grow with
    /// the number of executions. The file is gone when the process is.
    #[must_use]
    pub fn spill(mut self, directory: impl Into<std::path::PathBuf>) -> Self {
        self.settings.spill = Some(directory.into());
        self
    }

    /// Whether condvar waits may wake, and `compare_exchange_weak` fail, for no reason, at a cost of 1 each. On by
    /// default.
    #[must_use]
    pub fn spurious(mut self, spurious: bool) -> Self {
        self.settings.spurious = spurious;
        self
    }

    /// Whether time passes only when no thread can go on, and then up to the first moment at which one of those that sleep, or wait with
    /// a timeout, can: as with the paused clock of tokio. Sleeps are then as long as they are meant to be, and no timeout is over
    /// early, so that tests which order their threads by `thread::sleep` pass if they are right apart from that. What depends on how long
    /// something takes is not explored. Off by default: a sleep orders nothing, and a timed wait that is over early costs 1.
    ///
    /// What a sleep orders is no happens-before relation: a data race stays one.
    #[must_use]
    pub fn auto_advance(mut self, auto_advance: bool) -> Self {
        self.settings.auto_advance = auto_advance;
        self
    }

    /// Whether loads of atomic variables, and exchanges that fail, may read stale values: every value that C++20's memory model, which
    /// Rust adopts, lets them read besides the newest, at a cost of 1 each, like a preemption. So a missing ordering that no data race
    /// shows (store buffering, messages through relaxed flags, sequence locks) is a failure with so many preemptions and stale values. Off
    /// by default: executions are then sequentially consistent.
    ///
    /// Not produced: modification orders other than the order of execution, loads that read what is stored only later (load buffering),
    /// and more than three stale values in a row of one variable in one thread.
    #[must_use]
    pub fn weak_memory(mut self, weak_memory: bool) -> Self {
        self.settings.weak_memory = weak_memory;
        self
    }

    /// Whether the search goes on after a failure, to count all of them. The report holds the first of those
    /// with the fewest preemptions.
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.settings.keep_going = keep_going;
        self
    }

    /// Whether each execution has a process of its own, a fork of one that runs none: nothing that an execution leaves behind, such as memory that
    /// is never freed or what a global of C holds, is there in the next one. For tests that diverge because of that; some ten to a hundred times slower. Off by default;
    /// `cargo icb` turns it on for a test that knows nothing of icb if it diverges. A failure is explained by its trace alone. What the test leaves in the file system is there all the same.
    ///
    /// With the default strategy and reduction only, not with [`OnRace::Promote`] or [`keep_going`](Self::keep_going), and on Unix: other settings are wrong.
    /// Without `cargo icb` the forks are taken of the test's process while it has other threads: of these they have nothing, and so nothing that a test's closure waits for may be theirs.
    #[must_use]
    pub fn isolated(mut self, isolated: bool) -> Self {
        self.settings.isolated = isolated;
        self
    }

    /// Whether a panic in a thread that nobody joins is no failure: Rust's own harness prints it and lets the test pass, and a pool whose
    /// workers may panic relies on that. Off by default.
    #[must_use]
    pub fn allow_unjoined_panics(mut self, allow: bool) -> Self {
        self.settings.allow_unjoined_panics = allow;
        self
    }

    /// Whether memory that an execution allocates and never frees is a failure: an `Arc` cycle, a `Box` that only a raw
    /// pointer leads to, a value that is forgotten. What a static leads to when the execution is over is kept, and does
    /// not leak. Off by default. An execution that leaves memory behind is run twice more, to tell a leak from what is kept for later on purpose; in a model that does, `Box::leak` included,
    /// expect three times the time. A thread that never ends is a deadlock, with or without this.
    ///
    /// Needs icb's allocator (the feature `allocator` of `icb_std`, on by default).
    #[must_use]
    pub fn check_leaks(mut self, check_leaks: bool) -> Self {
        self.settings.check_leaks = check_leaks;
        self
    }

    /// Whether it is a failure that memory is freed in which an atomic variable, a lock or a cell lies, where nothing orders that after their
    /// uses in other threads: in another execution the use comes after the free. An `Arc` counted by hand whose last owner does not
    /// acquire is found so, without a preemption. Only for programs of which everything that keeps memory alive is modelled: `std`'s own
    /// `Arc`, which a model does not see, orders nothing. Where accesses to plain memory are checked it is on; else off by default.
    /// `cargo icb` turns it on for tests that know nothing of icb, if everything that they are built from is instrumented.
    ///
    /// Needs icb's allocator (the feature `allocator` of `icb_std`, on by default); not with [`on_race`](Self::on_race)`(Promote)`.
    #[must_use]
    pub fn check_frees(mut self, check_frees: bool) -> Self {
        self.settings.check_frees = Some(check_frees);
        self
    }

    /// Whether a block may lie where another one lay that the same thread has freed in the same execution: the latest of those of its size, as with
    /// allocators that keep for each thread what it frees. So what goes by addresses may take one for the other: an exchange that finds the pointer that it expects, and
    /// not what it pointed to (the ABA problem), a table with addresses for keys. Off by default: then no block lies where another one has lain, and an access to one that has been freed is found. Here it is found only as long as its
    /// address has not been used again, and what is reported or claimed of a program that uses freed memory later than that may be wrong: search without this first. Where a `std::sync::Arc` of the real
    /// `std` is shared and accesses are not checked, that another thread may be the one that frees is not explored.
    ///
    /// Needs icb's allocator (the feature `allocator` of `icb_std`, on by default).
    #[must_use]
    pub fn reuse_addresses(mut self, reuse_addresses: bool) -> Self {
        self.settings.reuse_addresses = reuse_addresses;
        self
    }

    /// Whether an execution that a reduction gives up half-way runs to its end all the same, which is the default. Else its
    /// threads are unwound where they are: slower for most programs, and not for those whose destructors assert what
    /// holds only where the program itself comes to.
    #[must_use]
    pub fn run_out(mut self, run_out: bool) -> Self {
        self.settings.run_out = run_out;
        self
    }

    /// Whether threads that wait for ever are no failure once the test itself has ended. Off by default: then it is a
    /// deadlock. `cargo icb` turns it on for tests that know nothing of icb; their threads would end with the process.
    #[must_use]
    pub fn detached(mut self, detached: bool) -> Self {
        self.settings.detached = detached;
        self
    }

    /// Whether `std`'s random hashing (`RandomState`, which `HashMap` takes by default) begins with the same keys in every
    /// execution. Off by default: a test in which they matter is then a divergence. `cargo icb` turns it on for tests that
    /// know nothing of icb. Linux only; elsewhere hashing stays random.
    #[must_use]
    pub fn fixed_hashing(mut self, fixed_hashing: bool) -> Self {
        self.settings.fixed_hashing = fixed_hashing;
        self
    }

    /// Which assignment of random numbers (`getrandom`, and `std`'s hashing where it is fixed) every execution gets: 0, by default, or another
    /// one. Of all assignments a search explores this one only.
    #[must_use]
    pub fn random_seed(mut self, seed: u64) -> Self {
        self.settings.random_seed = seed;
        self
    }

    /// Says that the test draws random numbers of its own making, and chooses among so many assignments of them: what is proved is proved for these, and
    /// the report says so.
    #[must_use]
    pub fn assignments(mut self, count: u32) -> Self {
        self.settings.assignments = Some(count);
        self
    }

    /// Runs only this execution.
    #[must_use]
    pub fn replay(mut self, schedule: Schedule) -> Self {
        self.settings.replay = Some(schedule);
        self
    }

    /// Explores `f`. The `ICB_*` variables override what was set here, so that `cargo icb` can steer, and it is told
    /// what happens. A search that a limit cuts short without a failure returns: `cargo icb` reports it as incomplete; without
    /// `cargo icb`, a line on the standard error says so, with what is proved, and so does the report of [`explore`](Self::explore).
    ///
    /// # Panics
    /// With the rendered report if a failure is found, with one sentence if the settings are wrong, and inside another
    /// exploration.
    #[track_caller]
    pub fn check<F: Fn() + Send + Sync + 'static>(&self, f: F) {
        if !EXPLORE {
            return f();
        }
        let mut settings = self.settings.clone();
        let applied = settings.apply(environment::variable);
        let channel = Channel::open(settings.channel.as_deref());
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
        let of_test = NEXT_OF_TEST.replace(NEXT_OF_TEST.get() + 1);
        let variables = settings.variables_of_replays(|name| std::env::var(name).ok());
        let may_be_cut_short = !channel.is_open()
            && settings.replay.is_none()
            && !matches!(settings.strategy, StrategyKind::Random { .. } | StrategyKind::Priority { .. });
        let report = Worker { settings, channel, model }.run(&closure(f));
        if may_be_cut_short && let Some(sentence) = cut_short(&report) {
            // Not by a macro: of a test that passes, the test harness shows nothing that these print.
            let _ = writeln!(std::io::stderr(), "icb: {sentence}");
        }
        if let Some(failure) = report.failure {
            let options = table::Options { width: 100, ..table::Options::default() };
            let text = table::render(&failure, &options).to_plain_string();
            // Else the schedule would be taken for that of the first one.
            let which = if of_test > 0 { format!(" ICB_REPLAY_MODEL={of_test}") } else { String::new() };
            panic!("{text}\nreplay it with {variables}ICB_REPLAY='{}'{which}", failure.schedule);
        }
    }

    /// Explores `f` as set here, and reports what was found; a failure of the program under test does not panic. For
    /// tests that look into the report. `cargo icb` does not steer it. Without `cfg(icb)` `f` is called once, and the report is empty:
    /// nothing is proved.
    ///
    /// # Panics
    /// With one sentence if the settings are wrong, and inside another exploration.
    #[track_caller]
    pub fn explore<F: Fn() + Send + Sync + 'static>(&self, f: F) -> Report {
        if !EXPLORE {
            f();
            return Report::default();
        }
        if let Some(message) = self.wrong() {
            panic!("icb: {message}");
        }
        Worker { settings: self.settings.clone(), channel: Channel::default(), model: 0 }.run(&closure(f))
    }
}

impl<const EXPLORE: bool> Builder<EXPLORE> {
    /// What is wrong with the settings.
    fn wrong(&self) -> Option<String> {
        self.refused.clone().or_else(|| self.settings.check().err())
    }

    /// Explores a model as set here, one execution after another; see [`StateSearch`](crate::model::StateSearch) for a
    /// search that keeps states. Granularity, races and spurious wake-ups do not exist in a model.
    ///
    /// A model with several initial states is explored with [`ReductionKind::Visited`] where the default reduction is asked for.
    ///
    /// On a cyclic model, set [`ReductionKind::None`], and no strategy that is told every step (`pct`, `kiss`): these follow a
    /// cycle until the limit on steps, which is a failure.
    ///
    /// # Panics
    /// With one sentence if the settings are wrong.
    #[track_caller]
    pub fn explore_model<M: Model>(&self, model: &M) -> Report {
        if let Some(message) = self.wrong() {
            panic!("icb: {message}");
        }
        super::modelled::explore(&self.settings, model)
    }
}

/// That a limit has cut a search short which has found nothing, and what is proved all the same.
fn cut_short(report: &Report) -> Option<String> {
    let reason = report.stopped?.reason()?;
    let proved = report.proved();
    let proved = proved.as_deref().unwrap_or("nothing");
    let test = std::thread::current().name().map_or(String::new(), |name| format!("{name} is "));
    let count = report.execution_count();
    Some(format!("{test}incomplete: {reason} after {count} executions; proved: {proved}"))
}

fn closure<F: Fn() + Send + Sync + 'static>(f: F) -> Closure {
    Arc::new(f)
}
