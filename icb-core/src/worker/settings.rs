//! The settings of one exploration, and where they come from: defaults, overridden by `ICB_*` variables, overridden by
//! the builder's methods, and in `model` and `Builder::check` overridden by the variables again, so that `cargo icb`
//! can steer.

use super::builder::{OnRace, ReductionKind};
use crate::program::Granularity;
use crate::trace::{Death, EXPLAIN_SECONDS, STACK_SIZES, Schedule, Shard, StrategyKind};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const GRANULARITIES: [(&str, Granularity); 2] =
    [("sync", Granularity::SyncOnly), ("access", Granularity::EveryAccess)];

const ON_RACE: [(&str, OnRace); 2] = [("fail", OnRace::Fail), ("promote", OnRace::Promote)];

const REDUCTIONS: [(&str, ReductionKind); 3] = [
    ("none", ReductionKind::None),
    ("partial-order", ReductionKind::PartialOrder),
    ("visited", ReductionKind::Visited),
];

/// Of a stack with more bytes it is tried whether there is one, before anything is explored: later it would be told as a failure of the test.
const LARGE_STACK: u64 = 1 << 26;

/// The longest duration, thirty years: the clocks of a system end somewhere.
const MAX_DURATION: Duration = Duration::from_secs(30 * 366 * 86400);

/// Everything that can be set.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) min_bound: u32,
    /// The last bound is searched without those below it, which are searched only where something fails.
    pub(super) at_once: bool,
    /// `None`: until nothing is left.
    pub(super) max_bound: Option<u32>,
    pub(super) granularity: Granularity,
    pub(super) strategy: StrategyKind,
    /// How many threads may wait to begin; `None`: any number.
    pub(super) max_pending: Option<usize>,
    /// Threads are nested calls on one stack.
    pub(super) sequential: bool,
    pub(super) reduction: ReductionKind,
    pub(super) on_race: OnRace,
    pub(super) max_executions: Option<u64>,
    pub(super) max_steps: u64,
    pub(super) max_duration: Option<Duration>,
    pub(super) stack_size: usize,
    pub(super) spurious: bool,
    pub(super) auto_advance: bool,
    pub(super) weak_memory: bool,
    /// Whether a search without stale values looks whether there are any: not where somebody has decided for all tests.
    pub(super) looks_for_stale_values: bool,
    /// How often in a row a thread may go on early; `None`: as often as the bound lets it.
    pub(super) max_early: Option<u32>,
    pub(super) keep_going: bool,
    /// Each execution has a process of its own.
    pub(super) isolated: bool,
    pub(super) check_leaks: bool,
    pub(super) check_frees: Option<bool>,
    pub(super) reuse_addresses: bool,
    pub(super) allow_unjoined_panics: bool,
    pub(super) run_out: bool,
    /// Processes that search.
    pub(super) workers: usize,
    /// Where processes of several tests take leave to run more than one at a time.
    pub(super) tokens: Option<PathBuf>,
    /// The part of the search that is done.
    pub(super) shard: Option<Shard>,
    /// Where work for later bounds goes if there is much of it; without it memory.
    pub(super) spill: Option<PathBuf>,
    /// What journals belong to; without it none is kept.
    pub(super) journal_key: Option<String>,
    /// Executions of each bound whose blocking steps are counted.
    pub(super) measured_executions: u64,
    pub(super) detached: bool,
    pub(super) fixed_hashing: bool,
    pub(super) random_seed: u64,
    /// Among so many assignments of random numbers the test chooses, where it draws some.
    pub(super) assignments: Option<u32>,
    pub(super) watchdog: Duration,
    /// How long a replay may look for the orders that its failure takes.
    pub(super) explain: Duration,
    /// How long it may look for a simpler failure first.
    pub(super) simplify: Duration,
    pub(super) replay: Option<Schedule>,
    /// Which model of the test is replayed: the others only lead there. `None`: all are.
    pub(super) replay_model: Option<u32>,
    /// The process that has replayed it has died so: this one finds out what it takes, and runs nothing itself.
    pub(super) replay_dies: Option<Death>,
    /// Where messages are appended.
    pub(super) channel: Option<PathBuf>,
    /// Where frontiers and the flight recorder are kept.
    pub(super) directory: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            min_bound: 0,
            at_once: false,
            max_bound: Some(2),
            granularity: Granularity::SyncOnly,
            strategy: StrategyKind::ContextBounded,
            max_pending: None,
            sequential: false,
            reduction: ReductionKind::PartialOrder,
            on_race: OnRace::Fail,
            max_executions: None,
            max_steps: 20_000,
            max_duration: None,
            stack_size: 256 * 1024,
            spurious: true,
            auto_advance: false,
            weak_memory: false,
            looks_for_stale_values: true,
            max_early: None,
            keep_going: false,
            isolated: false,
            check_leaks: false,
            check_frees: None,
            reuse_addresses: false,
            allow_unjoined_panics: false,
            run_out: true,
            workers: 1,
            tokens: None,
            shard: None,
            spill: None,
            journal_key: None,
            measured_executions: 0,
            detached: false,
            fixed_hashing: false,
            random_seed: 0,
            assignments: None,
            watchdog: Duration::from_secs(10),
            explain: Duration::from_secs_f64(EXPLAIN_SECONDS),
            simplify: Duration::ZERO,
            replay: None,
            replay_model: None,
            replay_dies: None,
            channel: None,
            directory: None,
        }
    }
}

impl Settings {
    /// Takes over the variables that say how to search, but not those by which `cargo icb` divides the work.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub(super) fn apply_defaults(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        const STEERING: [&str; 9] = [
            "ICB_SHARD",
            "ICB_MIN_BOUND",
            "ICB_REPLAY",
            "ICB_REPLAY_MODEL",
            "ICB_REPLAY_DIES",
            "ICB_TOKENS",
            "ICB_JOURNAL_KEY",
            "ICB_CHANNEL",
            "ICB_DIRECTORY",
        ];
        // `cargo icb` sets the bound of each process; a test that is not steered is not to take it for its default.
        let steered = lookup("ICB_CHANNEL").is_some();
        self.apply(|name| {
            let of_process = ["ICB_MAX_BOUND", "ICB_WORKERS", "ICB_AT_ONCE"].contains(&name);
            let ours = STEERING.contains(&name) || (steered && of_process);
            if ours { None } else { lookup(name) }
        })
    }

    /// Takes over the variables that are set. `lookup` gives a variable's text.
    ///
    /// # Errors
    /// One sentence that names the variable, its text and what is allowed.
    pub(super) fn apply(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let given = Variables(&lookup);
        given.take("ICB_MIN_BOUND", &mut self.min_bound, number)?;
        if lookup("ICB_CHANNEL").is_some() {
            // Each process does what it is told.
            self.at_once = false;
        }
        given.take("ICB_AT_ONCE", &mut self.at_once, switch)?;
        given.take("ICB_MAX_BOUND", &mut self.max_bound, |name, text| match text {
            "unlimited" => Ok(None),
            _ => number(name, text).map(Some),
        })?;
        given.take("ICB_MAX_EARLY", &mut self.max_early, some(number))?;
        given.take("ICB_GRANULARITY", &mut self.granularity, one_of(&GRANULARITIES))?;
        given.take("ICB_STRATEGY", &mut self.strategy, parsed)?;
        given.take("ICB_MAX_PENDING", &mut self.max_pending, some(number))?;
        given.take("ICB_SEQUENTIAL", &mut self.sequential, switch)?;
        given.take("ICB_MEASURED_EXECUTIONS", &mut self.measured_executions, number)?;
        given.take("ICB_WORKERS", &mut self.workers, number)?;
        given.take("ICB_KEEP_GOING", &mut self.keep_going, switch)?;
        given.take("ICB_ISOLATED", &mut self.isolated, switch)?;
        given.take("ICB_REDUCTION", &mut self.reduction, one_of(&REDUCTIONS))?;
        given.take("ICB_ON_RACE", &mut self.on_race, one_of(&ON_RACE))?;
        given.take("ICB_MAX_EXECUTIONS", &mut self.max_executions, some(number))?;
        given.take("ICB_MAX_STEPS", &mut self.max_steps, number)?;
        given.take("ICB_MAX_SECONDS", &mut self.max_duration, some(seconds))?;
        given.take("ICB_WATCHDOG_SECONDS", &mut self.watchdog, seconds)?;
        given.take("ICB_EXPLAIN_SECONDS", &mut self.explain, seconds)?;
        given.take("ICB_SIMPLIFY_SECONDS", &mut self.simplify, seconds)?;
        given.take("ICB_STACK_SIZE", &mut self.stack_size, number)?;
        given.take("ICB_SPURIOUS", &mut self.spurious, switch)?;
        given.take("ICB_AUTO_ADVANCE", &mut self.auto_advance, switch)?;
        if given.take("ICB_WEAK_MEMORY", &mut self.weak_memory, switch)? {
            self.looks_for_stale_values = false;
        }
        given.take("ICB_CHECK_LEAKS", &mut self.check_leaks, switch)?;
        given.take("ICB_CHECK_FREES", &mut self.check_frees, some(switch))?;
        given.take("ICB_REUSE_ADDRESSES", &mut self.reuse_addresses, switch)?;
        given.take("ICB_ALLOW_UNJOINED_PANICS", &mut self.allow_unjoined_panics, switch)?;
        given.take("ICB_DETACHED", &mut self.detached, switch)?;
        given.take("ICB_FIXED_HASHING", &mut self.fixed_hashing, switch)?;
        given.take("ICB_RANDOM_SEED", &mut self.random_seed, number)?;
        given.take("ICB_RUN_OUT", &mut self.run_out, switch)?;
        given.take("ICB_REPLAY", &mut self.replay, some(parsed))?;
        given.take("ICB_REPLAY_MODEL", &mut self.replay_model, some(number))?;
        given.take("ICB_REPLAY_DIES", &mut self.replay_dies, some(parsed))?;
        given.take("ICB_SHARD", &mut self.shard, some(parsed))?;
        self.tokens = lookup("ICB_TOKENS").map(PathBuf::from);
        if let Some(text) = lookup("ICB_SPILL") {
            self.spill = Some(PathBuf::from(text));
        }
        self.journal_key = lookup("ICB_JOURNAL_KEY");
        self.channel = lookup("ICB_CHANNEL").map(PathBuf::from);
        self.directory = lookup("ICB_DIRECTORY").map(PathBuf::from);
        self.check()
    }

    /// The variables that a replay needs beside the schedule, each followed by a space: those by which executions are other ones, as they are set, and what a search has found out
    /// to be needed.
    pub(super) fn variables_of_replays(&self, lookup: impl Fn(&str) -> Option<String>) -> String {
        const NAMES: [&str; 12] = [
            "ICB_GRANULARITY",
            "ICB_ON_RACE",
            "ICB_SEQUENTIAL",
            "ICB_MAX_STEPS",
            "ICB_STACK_SIZE",
            "ICB_SPURIOUS",
            "ICB_CHECK_LEAKS",
            "ICB_CHECK_FREES",
            "ICB_ALLOW_UNJOINED_PANICS",
            "ICB_DETACHED",
            "ICB_FIXED_HASHING",
            "ICB_RANDOM_SEED",
        ];
        let given = NAMES.iter().filter_map(|name| Some(format!("{name}={} ", lookup(name)?)));
        let found = [
            ("ICB_WEAK_MEMORY", self.weak_memory),
            ("ICB_AUTO_ADVANCE", self.auto_advance),
            ("ICB_ISOLATED", self.isolated),
            ("ICB_REUSE_ADDRESSES", self.reuse_addresses),
        ];
        let found = found.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| format!("{name}=1 "));
        given.chain(found).collect()
    }

    /// Whether the settings make sense together.
    ///
    /// # Errors
    /// One sentence that says what does not.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.max_bound.is_some_and(|max| max < self.min_bound) {
            return Err(
                "ICB_MAX_BOUND is smaller than ICB_MIN_BOUND; set both to the same bound or unset the latter"
                    .into(),
            );
        }
        let (least, most) = (STACK_SIZES.start(), STACK_SIZES.end());
        let size = self.stack_size as u64;
        if size < *least {
            return Err(format!("a stack of {size} bytes is too small; give at least {least}"));
        }
        if size > *most {
            return Err(format!("a stack of {size} bytes is too large; give at most {most}"));
        }
        if size > LARGE_STACK
            && let Err(error) = crate::runtime::try_stack(self.stack_size)
        {
            return Err(format!(
                "there is no memory for a stack of {size} bytes ({error}); give a smaller one"
            ));
        }
        let of_allocator =
            [(self.check_leaks, "leaks are found"), (self.reuse_addresses, "addresses are used again")];
        if let Some((_, what)) = of_allocator.iter().find(|(is_asked_for, _)| *is_asked_for)
            && !crate::runtime::allocator_is_installed()
        {
            return Err(format!(
                "{what} by icb's allocator, which is not the global allocator here; turn the feature `allocator` of icb-std \
                 on, or make icb_core::runtime::Allocator the #[global_allocator]"
            ));
        }
        if self.sequential && self.strategy != StrategyKind::StackDiscipline {
            return Err("threads as nested calls are for one strategy only; set the strategy to kiss, or do without sequential".into());
        }
        let whole = self.strategy != StrategyKind::ContextBounded
            || self.reduction != ReductionKind::PartialOrder
            || self.on_race == OnRace::Promote;
        if self.shard.is_some() && whole {
            return Err("a search is divided into shards with the default strategy and reduction only, and without promotion; \
                        leave out the options that ask for others, or --shard"
                .into());
        }
        if self.isolated && (whole || self.keep_going || self.measured_executions > 0) {
            return Err("executions have processes of their own with the default strategy and reduction only, without promotion, and where the first \
                        failure ends the search; leave out the options that ask for others, or --isolated"
                .into());
        }
        if self.isolated && !cfg!(unix) {
            return Err(
                "processes of their own are forks, which this system does not have; leave out --isolated"
                    .into(),
            );
        }
        if self.workers == 0 {
            return Err("0 workers search nothing; give ICB_WORKERS, or Builder::workers, at least 1".into());
        }
        if self.max_steps == 0 {
            return Err("max_steps is 0; give at least 1".into());
        }
        Ok(())
    }
}

/// The variables, as texts.
struct Variables<F>(F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    /// Takes a variable over into a setting. `read` is given its name, for the sentence that says what is wrong, and its text. Whether the
    /// variable is set.
    fn take<T>(
        &self,
        name: &str,
        setting: &mut T,
        read: impl FnOnce(&str, &str) -> Result<T, String>,
    ) -> Result<bool, String> {
        let Some(text) = (self.0)(name) else { return Ok(false) };
        *setting = read(name, &text)?;
        Ok(true)
    }
}

/// For settings that are `None` unless something is given.
fn some<T>(
    read: impl FnOnce(&str, &str) -> Result<T, String>,
) -> impl FnOnce(&str, &str) -> Result<Option<T>, String> {
    |name, text| read(name, text).map(Some)
}

fn number<T: FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{name}={text} is not a number in range; unset it or give a whole number"))
}

/// What has a text form of its own, and says itself what is wrong.
fn parsed<T: FromStr<Err: fmt::Display>>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{name}: {error}"))
}

fn one_of<T: Copy>(choices: &[(&str, T)]) -> impl FnOnce(&str, &str) -> Result<T, String> {
    move |name, text| {
        let found = choices.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
        let words: Vec<&str> = choices.iter().map(|&(word, _)| word).collect();
        found.ok_or_else(|| format!("{name}={text} is not known; it can be {}", words.join(", ")))
    }
}

fn switch(name: &str, text: &str) -> Result<bool, String> {
    one_of(&[("1", true), ("0", false)])(name, text)
}

fn seconds(name: &str, text: &str) -> Result<Duration, String> {
    let value = text.parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    value.filter(|value| *value <= MAX_DURATION).ok_or_else(|| {
        format!("{name}={text} is not a number of seconds (30 years at most); write for example {name}=30")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let mut settings = Settings::default();
        let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        settings.apply(lookup).map(|()| settings)
    }

    #[test]
    fn variables_override_defaults() {
        let settings = applied(&[
            ("ICB_MAX_BOUND", "unlimited"),
            ("ICB_GRANULARITY", "access"),
            ("ICB_MAX_SECONDS", "1.5"),
            ("ICB_REPLAY", "icb1:0*2!1"),
        ])
        .unwrap();
        assert_eq!(settings.max_bound, None);
        assert_eq!(settings.granularity, Granularity::EveryAccess);
        assert_eq!(settings.max_duration, Some(Duration::from_millis(1500)));
        assert_eq!(settings.replay.unwrap().preemption_count(), 1);
    }

    #[test]
    fn nonsense_is_named_with_what_is_allowed() {
        for (name, text, hint) in [
            ("ICB_MAX_BOUND", "two", "whole number"),
            ("ICB_GRANULARITY", "fine", "sync, access"),
            ("ICB_STRATEGY", "luck", "icb, dfs"),
            ("ICB_MAX_PENDING", "-1", "whole number"),
            ("ICB_MAX_SECONDS", "-1", "number of seconds"),
            ("ICB_REPLAY", "0*3", "begins with"),
            ("ICB_SPURIOUS", "yes", "1, 0"),
            ("ICB_ON_RACE", "go on", "fail, promote"),
            ("ICB_SHARD", "3", "3/16"),
            ("ICB_STACK_SIZE", "10", "16384"),
            ("ICB_STACK_SIZE", "68719476737", "at most 68719476736"),
        ] {
            let error = applied(&[(name, text)]).unwrap_err();
            assert!(error.contains(hint), "{error}");
        }
    }
}
