//! `shuttle::check_random` and the like, [`Runner`], [`PortfolioRunner`]: exploring a closure. How it is explored is `icb`'s
//! affair: nobody asks a scheduler.

use crate::config::Config;
use crate::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler, Scheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use crate::world;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What icb allows an execution if nothing else is said: steps, and bytes of stack.
const DEFAULT_LIMITS: (u64, usize) = (20_000, 256 * 1024);

/// Explores `f`. The number of executions.
#[track_caller]
fn explore<F>(f: F, seed: u64, config: &Config) -> usize
where
    F: Fn() + Send + Sync + 'static,
{
    let builder = || {
        let mut builder = icb_std::model::Builder::new();
        if let Some(count) = config.steps_asked_for().filter(|count| *count > DEFAULT_LIMITS.0) {
            builder = builder.max_steps(count);
        }
        if config.stack_size > DEFAULT_LIMITS.1 {
            builder = builder.stack_size(config.stack_size);
        }
        if let Some(time) = config.max_time {
            builder = builder.max_duration(time);
        }
        // Tests for shuttle keep what they compare in `std`'s own types, beside the scheduling points; a reduction would take
        // executions for equal that differ in that.
        builder = builder.reduction(icb_std::model::Reduction::None);
        // A task whose handle was dropped may wait for ever; that others do not is seen to by `world::run`.
        builder.detached(true)
    };
    let f = Arc::new(f);
    let run = |stream_count: usize| {
        let f = f.clone();
        move || world::run(&*f, seed, stream_count)
    };
    // Does it draw random numbers? One execution tells.
    let draws = world::draws(|| _ = builder().max_bound(0).max_executions(1).explore(run(1)));
    let before = world::execution_count();
    let (stream_count, builder) = match draws {
        true => (world::STREAM_COUNT, builder().assignments(world::STREAM_COUNT as u32)),
        false => (1, builder()),
    };
    builder.check(run(stream_count));
    world::execution_count() - before
}

/// Mirrors `shuttle::Runner`.
#[derive(Debug)]
pub struct Runner<S: ?Sized + Scheduler> {
    config: Config,
    scheduler: Box<S>,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// Mirrors `shuttle::Runner::new`.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner { config, scheduler: Box::new(scheduler) }
    }

    /// Explores `f`. The number of its executions in this process.
    ///
    /// # Panics
    /// With the rendered report if a failure is found.
    #[track_caller]
    pub fn run<F>(self, f: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        explore(f, self.scheduler.seed(), &self.config)
    }
}

/// Mirrors `shuttle::PortfolioRunner`. However many schedulers it is given, `f` is explored once.
pub struct PortfolioRunner {
    config: Config,
    scheduler_count: usize,
}

impl PortfolioRunner {
    /// Mirrors `shuttle::PortfolioRunner::new`.
    #[must_use]
    pub fn new(_stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { config, scheduler_count: 0 }
    }

    /// Mirrors `shuttle::PortfolioRunner::add`.
    pub fn add(&mut self, _scheduler: impl Scheduler + Send + 'static) {
        self.scheduler_count += 1;
    }

    /// Explores `f`.
    ///
    /// # Panics
    /// With the rendered report if a failure is found.
    #[track_caller]
    pub fn run<F>(self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        explore(f, 0, &self.config);
    }
}

impl fmt::Debug for PortfolioRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("PortfolioRunner");
        text.field("schedulers", &self.scheduler_count).field("config", &self.config).finish()
    }
}

macro_rules! checks {
    ($($name:ident($f:ident $(, $argument:ident: $type:ty)*) => $scheduler:expr;)*) => { $(
        #[doc = concat!("Mirrors `shuttle::", stringify!($name), "`: explores `f`; see [`icb_std::model()`].")]
        ///
        /// # Panics
        /// With the rendered report if a failure is found.
        #[track_caller]
        pub fn $name<F>($f: F $(, $argument: $type)*)
        where
            F: Fn() + Send + Sync + 'static,
        {
            Runner::new($scheduler, Config::new()).run($f);
        }
    )* };
}

checks! {
    check(f) => RoundRobinScheduler::new(1);
    check_random(f, iterations: usize) => RandomScheduler::new(iterations);
    check_random_with_seed(f, seed: u64, iterations: usize) => RandomScheduler::new_from_seed(seed, iterations);
    check_urw(f, iterations: usize) => UrwRandomScheduler::new(iterations);
    check_pct(f, iterations: usize, depth: usize) => PctScheduler::new(depth, iterations);
    check_dfs(f, max_iterations: Option<usize>) => DfsScheduler::new(max_iterations, true);
    check_uncontrolled_nondeterminism(f, max_iterations: usize)
        => UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(max_iterations));
    replay(f, encoded_schedule: &str) => ReplayScheduler::new_from_encoded(encoded_schedule);
    annotate_replay(f, encoded_schedule: &str) => ReplayScheduler::new_from_encoded(encoded_schedule);
}

/// Mirrors `shuttle::replay_from_file`: explores `f`; the file is not read.
///
/// # Panics
/// With the rendered report if a failure is found.
#[track_caller]
pub fn replay_from_file<F, P>(f: F, _path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    explore(f, 0, &Config::new());
}
