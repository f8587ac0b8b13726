//! How the search is steered: the options that travel to the test process as `ICB_*` variables, and back from
//! a stored failure into its replay.

use crate::exit_code::Error;
use clap::builder::BoolishValueParser;
use clap::{Arg, Args, ValueEnum};
use icb_core::trace::{STACK_SIZES, StrategyKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// The largest number of preemptions to search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) enum Bound {
    /// Up to so many.
    Limited(u32),
    /// As long as there are executions with more.
    Unlimited,
}

impl Bound {
    /// Whether a bound lies within this one.
    pub(crate) fn allows(self, bound: u32) -> bool {
        match self {
            Bound::Limited(limit) => bound <= limit,
            Bound::Unlimited => true,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Limited(limit) => write!(f, "{limit}"),
            Bound::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Bound, String> {
        if text == "unlimited" {
            return Ok(Bound::Unlimited);
        }
        let message = "a bound is a number of preemptions, such as 2, or `unlimited`";
        text.parse().map(Bound::Limited).map_err(|_| message.to_owned())
    }
}

impl From<Bound> for String {
    fn from(bound: Bound) -> String {
        bound.to_string()
    }
}

impl TryFrom<String> for Bound {
    type Error = String;

    fn try_from(text: String) -> Result<Bound, String> {
        text.parse()
    }
}

/// Which operations are scheduling points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Granularity {
    /// Synchronization operations; justified by checking every execution for data races.
    Sync,
    /// Data accesses as well.
    Access,
}

/// Which executions are left out because others stand for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reduction {
    /// None are: every execution is run.
    None,
    /// Of executions that differ only in the order of operations that commute, about one is run.
    PartialOrder,
    /// Nothing is done twice in the same state: a table, which grows with the number of states.
    Visited,
}

/// What a data race means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnRace {
    /// A failure.
    Fail,
    /// The racing variable becomes a synchronization variable and the search goes on.
    Promote,
}

/// What options have in common.
pub(crate) trait Switch {
    /// On or off, also by a variable of the environment; on if the option is given without a value.
    fn switch(self, variable: &'static str) -> Self;
}

impl Switch for Arg {
    fn switch(self, variable: &'static str) -> Arg {
        let arg = self.value_name("BOOL").num_args(0..=1).require_equals(true).default_missing_value("true");
        arg.value_parser(BoolishValueParser::new()).env(variable)
    }
}

/// The options of the search. What is not given is left to the test and to the library's defaults.
#[derive(Clone, PartialEq, Debug, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Search")]
#[serde(default)]
pub(crate) struct Search {
    /// Which operations are scheduling points [default: sync]
    #[arg(long, value_name = "WHICH", env = "ICB_GRANULARITY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) granularity: Option<Granularity>,
    /// In which order executions are tried: icb, dfs, db:DEPTH, idfs, `random[:SEED]`, `pct[:DEPTH[:SEED]]`, delay, kiss [default: icb]
    #[arg(long, value_name = "ORDER", env = "ICB_STRATEGY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strategy: Option<StrategyKind>,
    /// With --strategy kiss: so many spawned threads may wait to begin; one more begins at once [default: any number]
    #[arg(long, value_name = "N", env = "ICB_MAX_PENDING", value_parser = parse_whole::<u32>, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_pending: Option<u32>,
    /// With --strategy kiss: threads are nested calls on one stack, for valgrind and AddressSanitizer
    #[arg(long, switch = "ICB_SEQUENTIAL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sequential: Option<bool>,
    /// Which executions are left out because others stand for them [default: partial-order]
    #[arg(long, value_name = "WHICH", env = "ICB_REDUCTION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reduction: Option<Reduction>,
    /// What a data race means: a failure, or one more synchronization variable [default: fail]
    #[arg(long, value_name = "WHAT", env = "ICB_ON_RACE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_race: Option<OnRace>,
    /// Loads of atomic variables may read stale values (weak memory), at a cost of 1 each, like a preemption
    #[arg(long, switch = "ICB_WEAK_MEMORY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weak_memory: Option<bool>,
    /// Whether time passes only when no thread can go on, so that sleeps are long enough and no timeout is over early (default: no; a sleep orders nothing)
    #[arg(long, switch = "ICB_AUTO_ADVANCE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_advance: Option<bool>,
    /// Whether waits wake and weak exchanges fail for no reason, at a cost of 1 each, as the documentation of std allows (default: yes)
    #[arg(long, switch = "ICB_SPURIOUS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spurious: Option<bool>,
    /// Which assignment of random numbers (of hashing, `getrandom`) every execution gets, where the test opted in to nothing [default: 0]
    #[arg(long, value_name = "N", env = "ICB_RANDOM_SEED", value_parser = parse_whole::<u64>, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) random_seed: Option<u64>,
    /// Memory that an execution allocates and never frees is a failure
    #[arg(long, switch = "ICB_CHECK_LEAKS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check_leaks: Option<bool>,
    /// Memory is freed only where that comes after all uses of the locks and atomics in it [default: where everything is instrumented]
    #[arg(long, switch = "ICB_CHECK_FREES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check_frees: Option<bool>,
    /// A block may lie where one lay that its thread has freed in the same execution, so that what goes by addresses may take one for the other (ABA)
    #[arg(long, switch = "ICB_REUSE_ADDRESSES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reuse_addresses: Option<bool>,
    /// Each execution has a process of its own, where nothing is left of earlier ones; slow [default: where a test that knows nothing of icb diverges]
    #[arg(long, switch = "ICB_ISOLATED")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) isolated: Option<bool>,
    /// A panic in a thread that nobody joins is no failure, as under `cargo test`
    #[arg(long, switch = "ICB_ALLOW_UNJOINED_PANICS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_unjoined_panics: Option<bool>,
    /// Stop a test after so many executions of one bound (then it is incomplete)
    #[arg(long, value_name = "N", env = "ICB_MAX_EXECUTIONS", value_parser = parse_limit, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_executions: Option<u64>,
    /// An execution with more steps than this is a failure; a test that knows nothing of icb whose first execution has more is run once, for real [default: 20000]
    #[arg(long, value_name = "N", env = "ICB_MAX_STEPS", value_parser = parse_step_limit, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_steps: Option<u64>,
    /// Stop a test after so much time at one bound, such as 500ms, 30s or 2m (then it is incomplete)
    #[arg(long = "max-test-time", value_name = "DURATION", env = "ICB_MAX_SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_time: Option<f64>,
    /// A thread that does nothing visible for so long is blocked outside the model: a failure [default: 10s]
    #[arg(long, value_name = "DURATION", env = "ICB_WATCHDOG_SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) watchdog: Option<f64>,
    /// Look so long for a failure with fewer switches and steps once one has been found, such as 5s (not where executions have processes of their own)
    #[arg(long, value_name = "DURATION", env = "ICB_SIMPLIFY_SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) simplify: Option<f64>,
    /// How long a replay may look for the orders that a failure takes, such as 10s; 0: all steps that others can notice are shown [default: 2s]
    #[arg(long, value_name = "DURATION", env = "ICB_EXPLAIN_SECONDS", value_parser = parse_seconds_or_none, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explain: Option<f64>,
    /// How often in a row a wait or a loop is cut short [default: as often as the bound pays for; 3 without a bound]
    #[arg(long, value_name = "N", env = "ICB_MAX_EARLY", value_parser = parse_whole::<u32>, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_early: Option<u32>,
    /// Size of each thread's stack, if the thread does not ask for more [default: 262144; 2097152 for tests that know nothing of icb]
    #[arg(long, value_name = "BYTES", env = "ICB_STACK_SIZE", value_parser = parse_stack_size, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stack_size: Option<u64>,
}

impl Search {
    /// The order of the search.
    pub(crate) fn strategy(&self) -> StrategyKind {
        self.strategy.unwrap_or_default()
    }

    /// The variables that carry these settings to the test process.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        let mut set = |name, value: Option<String>| variables.extend(value.map(|value| (name, value)));
        set("ICB_GRANULARITY", self.granularity.map(value_name));
        set("ICB_STRATEGY", self.strategy.map(|strategy| strategy.to_string()));
        set("ICB_MAX_PENDING", self.max_pending.map(|n| n.to_string()));
        set("ICB_SEQUENTIAL", self.sequential.map(|on| u8::from(on).to_string()));
        set("ICB_REDUCTION", self.reduction.map(value_name));
        set("ICB_ON_RACE", self.on_race.map(value_name));
        set("ICB_WEAK_MEMORY", self.weak_memory.map(|yes| u8::from(yes).to_string()));
        set("ICB_AUTO_ADVANCE", self.auto_advance.map(|yes| u8::from(yes).to_string()));
        set("ICB_SPURIOUS", self.spurious.map(|yes| u8::from(yes).to_string()));
        set("ICB_RANDOM_SEED", self.random_seed.map(|seed| seed.to_string()));
        set("ICB_CHECK_LEAKS", self.check_leaks.map(|yes| u8::from(yes).to_string()));
        set("ICB_CHECK_FREES", self.check_frees.map(|yes| u8::from(yes).to_string()));
        set("ICB_REUSE_ADDRESSES", self.reuse_addresses.map(|yes| u8::from(yes).to_string()));
        set("ICB_ISOLATED", self.isolated.map(|yes| u8::from(yes).to_string()));
        set("ICB_ALLOW_UNJOINED_PANICS", self.allow_unjoined_panics.map(|yes| u8::from(yes).to_string()));
        set("ICB_MAX_EXECUTIONS", self.max_executions.map(|n| n.to_string()));
        set("ICB_MAX_STEPS", self.max_steps.map(|n| n.to_string()));
        set("ICB_MAX_SECONDS", self.max_time.map(|seconds| seconds.to_string()));
        set("ICB_WATCHDOG_SECONDS", self.watchdog.map(|seconds| seconds.to_string()));
        set("ICB_SIMPLIFY_SECONDS", self.simplify.map(|seconds| seconds.to_string()));
        set("ICB_EXPLAIN_SECONDS", self.explain.map(|seconds| seconds.to_string()));
        set("ICB_MAX_EARLY", self.max_early.map(|n| n.to_string()));
        set("ICB_STACK_SIZE", self.stack_size.map(|n| n.to_string()));
        variables
    }

    /// The option, if there is one, because of which one process alone searches a test.
    pub(crate) fn searched_alone(&self) -> Option<String> {
        if let Some(strategy) = self.strategy.filter(|&strategy| strategy != StrategyKind::ContextBounded) {
            return Some(format!("--strategy {strategy}"));
        }
        if let Some(reduction) = self.reduction.filter(|&reduction| reduction != Reduction::PartialOrder) {
            return Some(format!("--reduction {}", value_name(reduction)));
        }
        self.on_race.filter(|&on_race| on_race == OnRace::Promote).map(|_| "--on-race promote".to_owned())
    }

    /// Refuses what belongs to another order of the search.
    ///
    /// # Errors
    /// In one sentence.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let is_kiss = self.strategy() == StrategyKind::StackDiscipline;
        let given =
            [("--sequential", self.sequential == Some(true)), ("--max-pending", self.max_pending.is_some())];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given && !is_kiss) {
            return Err(Error::Usage(format!(
                "{option} is for the strategy kiss only, and this is {}; add --strategy kiss, or leave {option} out",
                self.strategy()
            )));
        }
        match self.searched_alone().filter(|_| self.isolated == Some(true)) {
            Some(other) => Err(Error::Usage(format!(
                "--isolated: executions have processes of their own in the default search only, and {other} asks for another; leave out one of them"
            ))),
            None => Ok(()),
        }
    }

    /// The search with everything that `other` says instead, where it says something.
    pub(crate) fn overridden_by(&self, other: &Search) -> Search {
        Search {
            granularity: other.granularity.or(self.granularity),
            strategy: other.strategy.or(self.strategy),
            max_pending: other.max_pending.or(self.max_pending),
            sequential: other.sequential.or(self.sequential),
            reduction: other.reduction.or(self.reduction),
            on_race: other.on_race.or(self.on_race),
            weak_memory: other.weak_memory.or(self.weak_memory),
            auto_advance: other.auto_advance.or(self.auto_advance),
            spurious: other.spurious.or(self.spurious),
            random_seed: other.random_seed.or(self.random_seed),
            check_leaks: other.check_leaks.or(self.check_leaks),
            check_frees: other.check_frees.or(self.check_frees),
            reuse_addresses: other.reuse_addresses.or(self.reuse_addresses),
            isolated: other.isolated.or(self.isolated),
            allow_unjoined_panics: other.allow_unjoined_panics.or(self.allow_unjoined_panics),
            max_executions: other.max_executions.or(self.max_executions),
            max_steps: other.max_steps.or(self.max_steps),
            max_time: other.max_time.or(self.max_time),
            watchdog: other.watchdog.or(self.watchdog),
            simplify: other.simplify.or(self.simplify),
            explain: other.explain.or(self.explain),
            max_early: other.max_early.or(self.max_early),
            stack_size: other.stack_size.or(self.stack_size),
        }
    }
}

fn value_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Reads a whole number.
pub(crate) fn parse_whole<T: FromStr>(text: &str) -> Result<T, String> {
    let largest = u128::MAX >> (128 - 8 * size_of::<T>());
    text.trim().parse().map_err(|_| format!("a whole number from 0 to {largest} is needed"))
}

/// Reads a limit, at which nothing would be done if it were 0.
pub(crate) fn parse_limit(text: &str) -> Result<u64, String> {
    parse_limit_or(text, "no limit")
}

/// Reads a limit on the steps of an execution.
fn parse_step_limit(text: &str) -> Result<u64, String> {
    parse_limit_or(text, "20000")
}

/// Reads a limit; if none is given, there is this one.
fn parse_limit_or(text: &str, default: &str) -> Result<u64, String> {
    match parse_whole(text)? {
        0 => {
            Err(format!("with a limit of 0 nothing is done; give at least 1, or leave it out for {default}"))
        }
        limit => Ok(limit),
    }
}

/// Most that are at work at a time: with many more, cargo cannot begin.
const MAX_JOBS: usize = 4096;

/// Reads how many are at work at a time.
pub(crate) fn parse_jobs(text: &str) -> Result<NonZeroUsize, String> {
    match parse_whole(text)? {
        0 => Err("0 at a time do nothing; give at least 1".to_owned()),
        more if more > MAX_JOBS => Err(format!("no machine does so many at a time; give at most {MAX_JOBS}")),
        jobs => NonZeroUsize::new(jobs).ok_or_else(String::new),
    }
}

/// Reads the size of a stack.
fn parse_stack_size(text: &str) -> Result<u64, String> {
    let size = parse_whole(text)?;
    if STACK_SIZES.contains(&size) {
        return Ok(size);
    }
    Err(format!("a stack has from {} to {} bytes", STACK_SIZES.start(), STACK_SIZES.end()))
}

/// The longest duration; the clocks of a system end somewhere.
const MAX_SECONDS: f64 = 30.0 * 366.0 * 86400.0;

/// Reads a duration, or 0.
fn parse_seconds_or_none(text: &str) -> Result<f64, String> {
    if text.trim() == "0" { Ok(0.0) } else { parse_seconds(text) }
}

/// Reads a duration: a number with `ms`, `s`, `m` or `h`; without a unit it is in seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("a duration is a number with ms, s, m or h, such as 30s".to_owned()),
    };
    match number.parse::<f64>() {
        Ok(value) if value * factor > MAX_SECONDS => Err("a duration is at most 30 years".to_owned()),
        Ok(value) if value * factor > 0.0 => Ok(value * factor),
        Ok(_) => Err("a duration must be more than 0".to_owned()),
        Err(_) => Err("a duration is a number with ms, s, m or h, such as 30s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_durations_are_read() {
        assert_eq!("3".parse(), Ok(Bound::Limited(3)));
        assert_eq!("unlimited".parse(), Ok(Bound::Unlimited));
        for bad in ["-1", "two", "", "1.5", "99999999999"] {
            assert!(bad.parse::<Bound>().is_err(), "{bad}");
        }
        for (text, seconds) in [("30s", 30.0), ("2m", 120.0), ("500ms", 0.5), ("1.5h", 5400.0), ("7", 7.0)] {
            assert_eq!(parse_seconds(text), Ok(seconds), "{text}");
        }
        for bad in ["", "s", "3 days", "0", "-3s", "1..2", "999999999999", "9999999h"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        assert_eq!(
            (parse_limit("1"), parse_whole::<u32>("0"), parse_seconds_or_none("0")),
            (Ok(1), Ok(0), Ok(0.0))
        );
        assert_eq!((parse_jobs("2").map(usize::from), parse_stack_size("16384")), (Ok(2), Ok(16384)));
        for (read, named) in [
            (parse_limit("0"), "give at least 1, or leave it out for no limit"),
            (parse_step_limit("0"), "give at least 1, or leave it out for 20000"),
            (parse_limit("-1"), "a whole number from 0 to 18446744073709551615"),
            (parse_limit("99999999999999999999"), "a whole number"),
            (parse_whole::<u32>("4294967296").map(u64::from), "from 0 to 4294967295"),
            (parse_jobs("100000").map(|jobs| jobs.get() as u64), "give at most 4096"),
            (parse_jobs("0").map(|jobs| jobs.get() as u64), "give at least 1"),
            (parse_stack_size("1"), "from 16384 to 68719476736 bytes"),
            (parse_stack_size("999999999999999"), "from 16384 to"),
        ] {
            let message = read.unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }

    #[test]
    fn settings_become_variables() {
        let search = Search {
            granularity: Some(Granularity::Access),
            reduction: Some(Reduction::PartialOrder),
            max_time: Some(0.5),
            stack_size: Some(65536),
            ..Search::default()
        };
        assert_eq!(
            search.environment(),
            [
                ("ICB_GRANULARITY", "access".to_owned()),
                ("ICB_REDUCTION", "partial-order".to_owned()),
                ("ICB_MAX_SECONDS", "0.5".to_owned()),
                ("ICB_STACK_SIZE", "65536".to_owned()),
            ]
        );
        assert_eq!(search.searched_alone(), None);
        for (words, alone) in [
            ("none", Search { reduction: Some(Reduction::None), ..Search::default() }),
            ("promote", Search { on_race: Some(OnRace::Promote), ..Search::default() }),
            ("dfs", Search { strategy: Some(StrategyKind::DepthFirst), ..Search::default() }),
        ] {
            assert!(alone.searched_alone().unwrap().ends_with(words));
        }
        let later = Search { granularity: Some(Granularity::Sync), ..Search::default() };
        assert_eq!(search.overridden_by(&later).environment()[0].1, "sync");
        assert_eq!(later.overridden_by(&search).environment().len(), 4);
    }
}
