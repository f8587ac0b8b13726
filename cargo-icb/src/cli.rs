//! The command line: what can be asked for. What it means is in `command`.

use crate::exit_code::{Error, HELP};
use crate::settings::{Bound, Search, Switch, parse_jobs, parse_limit, parse_seconds, parse_whole};
use clap::{Args, Parser, Subcommand, ValueEnum};
use icb_core::trace::Shard;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

/// Systematic concurrency testing: runs tests under every interleaving, fewest preemptions first.
#[derive(Debug, Parser)]
#[command(name = "cargo icb", bin_name = "cargo icb", version, after_help = HELP, max_term_width = 110)]
pub(crate) struct Cli {
    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Explore tests, all at bound 0, then all at bound 1, …, and say what was found and what is proved
    #[command(after_help = HELP)]
    Test(TestArgs),
    /// Run a stored failure again, and explain it
    #[command(after_help = HELP)]
    Replay(ReplayArgs),
    /// Compare strategies on one test: distinct states against executions and bounds, as a table, CSV and a plot
    #[command(after_help = HELP)]
    Coverage(CoverageArgs),
    /// List tests and stored failures
    #[command(after_help = HELP)]
    List(ListArgs),
    /// Show a run again, without running anything
    #[command(after_help = HELP)]
    Show(ShowArgs),
    /// Put the results of all shards of a run together (see `test --shard`)
    #[command(after_help = HELP)]
    Merge(MergeArgs),
    /// Set a failing execution beside the nearest one that passes, or two stored traces beside each other
    #[command(after_help = HELP)]
    Diff(DiffArgs),
    /// Write a failing execution as a page to look at in a browser
    #[command(after_help = HELP)]
    Timeline(TimelineArgs),
}

impl Command {
    /// The name of a subcommand that runs tests under settings.
    pub(crate) fn runs_tests(&self) -> Option<&'static str> {
        match self {
            Command::Test(_) => Some("test"),
            Command::Replay(_) => Some("replay"),
            Command::Coverage(_) => Some("coverage"),
            Command::Diff(_) => Some("diff"),
            Command::Timeline(_) => Some("timeline"),
            Command::List(_) | Command::Show(_) | Command::Merge(_) => None,
        }
    }
}

/// Arguments of `cargo icb diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A test with a stored failure, or the file of a stored trace
    #[arg(id = "TEST_NAME", value_name = "TEST|FILE")]
    pub(crate) test: String,
    /// The file of another stored trace
    #[arg(value_name = "FILE")]
    pub(crate) other: Option<PathBuf>,
    /// Compare executions with so many preemptions, such as 0,1
    #[arg(long, value_name = "A,B", value_parser = two_bounds, conflicts_with = "other")]
    pub(crate) bounds: Option<(u32, u32)>,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    /// Show every step, also those that are alike or repeated
    #[arg(long, help_heading = "Output")]
    pub(crate) full: bool,
}

/// Reads `0,1`.
fn two_bounds(text: &str) -> Result<(u32, u32), String> {
    let pair = text.split_once(',').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    match pair {
        Some((first, second)) if first == second => {
            Err("an execution is not compared with itself; give two different bounds, such as 0,1".to_owned())
        }
        Some(pair) => Ok(pair),
        None => Err("two bounds are two numbers of preemptions, such as 0,1".to_owned()),
    }
}

/// Arguments of `cargo icb timeline`.
#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    /// A test with a stored failure, or the file of a stored trace
    #[arg(id = "TEST_NAME", value_name = "TEST|FILE")]
    pub(crate) test: String,
    /// Where the page goes [default: icb/timeline/PACKAGE.TARGET.TEST.html in the target directory]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// How machines are told what people read on the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Text for people.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// In which form a run is told.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Text for people, or one JSON object a line
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) message_format: MessageFormat,
    /// Write a JUnit report to this file, for CI servers
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the failures to this file as SARIF, which editors and code hosts show beside the source
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
}

impl OutputArgs {
    /// Refuses two reports in one file, and files that cannot be written: it is better known before the run than after it.
    ///
    /// # Errors
    /// In one sentence.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let (Some(junit), Some(sarif)) = (&self.junit, &self.sarif)
            && junit == sarif
        {
            return Err(Error::Usage(format!(
                "--junit and --sarif would both write {}; give each a file of its own",
                junit.display()
            )));
        }
        for (option, path) in [("--junit", &self.junit), ("--sarif", &self.sarif)] {
            if let Some(path) = path {
                can_be_written(path).map_err(|error| {
                    Error::Usage(format!(
                        "{option}: cannot write {}: {error}; name another file",
                        path.display()
                    ))
                })?;
            }
        }
        Ok(())
    }
}

/// Whether a file can be written, which is left as it is.
fn can_be_written(path: &Path) -> std::io::Result<()> {
    if path.exists() {
        return OpenOptions::new().append(true).open(path).map(drop);
    }
    let directory =
        path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    tempfile::NamedTempFile::new_in(directory).map(drop)
}

/// Arguments of `cargo icb show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Which run: its number, `last`, or a file of its lines, which may lie anywhere
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Show every step of a failure
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// Arguments of `cargo icb merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Where the results of the shards are
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Show every step of a failure
    #[arg(long)]
    pub(crate) full: bool,
}

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Arguments of `cargo icb test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Run only tests whose names contain one of these, or begin with one as they are told (PACKAGE::TARGET::NAME)
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Search all executions with at most so many preemptions: a number, or `unlimited`
    #[arg(long, value_name = "N", default_value = "2", env = "ICB_MAX_BOUND", allow_negative_numbers = true)]
    pub(crate) max_bound: Bound,
    /// Search the last bound at once, which is sooner done where nothing fails; a test that fails is then searched bound by bound
    #[arg(
        long,
        switch = "ICB_AT_ONCE",
        action = clap::ArgAction::Set,
        default_value = "false",
        hide_default_value = true
    )]
    pub(crate) at_once: bool,
    /// Go on with what an earlier run of the same command was stopped at
    #[arg(long)]
    pub(crate) resume: bool,
    /// Stop the run after so much time, such as 10m, shared fairly among the tests, low bounds first
    #[arg(long = "max-time", value_name = "DURATION", value_parser = parse_seconds, allow_negative_numbers = true)]
    pub(crate) run_time: Option<f64>,
    /// Stop the run after so many executions of all tests
    #[arg(long = "max-run-executions", value_name = "N", value_parser = parse_limit, allow_negative_numbers = true)]
    pub(crate) run_executions: Option<u64>,
    /// Keep what is left for the next bound on disk as soon as it is more than 8 MiB (--reduction none; the default search keeps little)
    #[arg(long)]
    pub(crate) spill: bool,
    /// Do one part of the search, such as 3/16, the third of sixteen (3/16:2/4: the second quarter of that), and write its result
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,
    /// Where the result of a shard goes [default: icb/shards in the target directory]
    #[arg(long, value_name = "DIRECTORY", requires = "shard")]
    pub(crate) shard_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) habits: HabitArgs,
    /// Show every step of a failure, also those that no other thread can notice
    #[arg(long, help_heading = "Output")]
    pub(crate) full: bool,
}

/// Arguments of `cargo icb replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The test: its name, or PACKAGE::TARGET::TEST as a report prints it; or the file of a stored failure, such as one from another machine
    #[arg(id = "TEST_NAME", value_name = "TEST|FILE")]
    pub(crate) test: String,
    /// Replay this schedule instead of the stored one
    #[arg(long, value_name = "TEXT", env = "ICB_REPLAY")]
    pub(crate) schedule: Option<String>,
    /// With --schedule: which call of `model` in the test, counted from 0 [default: 0]
    #[arg(long, value_name = "N", env = "ICB_REPLAY_MODEL", value_parser = parse_whole::<u32>, allow_negative_numbers = true)]
    pub(crate) model: Option<u32>,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    /// Show every step, also those that no other thread can notice
    #[arg(long, help_heading = "Output")]
    pub(crate) full: bool,
    /// Instead of replaying, say how to replay under gdb or lldb, with a stop at each preemption
    #[arg(long, help_heading = None)]
    pub(crate) debugger: bool,
}

/// Arguments of `cargo icb coverage`.
#[derive(Debug, Args)]
pub(crate) struct CoverageArgs {
    /// The test; a part of its name will do if no other test has it
    #[arg(id = "TEST_NAME", value_name = "TEST")]
    pub(crate) test: String,
    /// The strategies, as for `cargo icb test`; `icb+por` is icb with its reduction, the others run every execution. Each runs 1000, or as many as
    /// --max-executions says
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "icb,icb+por,dfs,db:20,random")]
    pub(crate) strategies: Vec<String>,
    /// Search all executions with at most so many preemptions: a number, or `unlimited`
    #[arg(
        long,
        value_name = "N",
        default_value = "unlimited",
        env = "ICB_MAX_BOUND",
        allow_negative_numbers = true
    )]
    pub(crate) max_bound: Bound,
    /// Where the CSV files and the plot go [default: `coverage` beside the stored failures]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: Search,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// Arguments of `cargo icb list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List only tests, and stored failures of tests, whose names contain one of these, or begin with one as they are told
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// List only failures that are stored; builds nothing
    #[arg(long)]
    pub(crate) failures: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    #[command(flatten)]
    pub(crate) targets: TargetArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// What people are used to give `cargo test`, and what needs no doing here.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Understood because cargo test has them")]
pub(crate) struct HabitArgs {
    /// All tests are run in any case, whichever fail
    #[arg(long)]
    no_fail_fast: bool,
    /// What a failing execution prints is shown with it in any case
    #[arg(long, aliases = ["no-capture", "show-output"])]
    nocapture: bool,
    /// Refused: documentation tests are compiled by rustdoc, and cannot be explored
    #[arg(long, hide = true)]
    doc: bool,
    /// Refused: another command does it
    #[arg(long, hide = true)]
    no_run: bool,
    /// Refused: another command does it
    #[arg(long, hide = true)]
    list: bool,
}

impl HabitArgs {
    /// Refuses what cannot be done.
    ///
    /// # Errors
    /// In one sentence.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refused = match self {
            HabitArgs { doc: true, .. } => {
                "--doc: documentation tests are compiled by rustdoc, and cannot be explored; move the example into a #[test]"
            }
            HabitArgs { no_run: true, .. } => {
                "--no-run: leave it out, or let `cargo icb list` build the tests, which runs none"
            }
            HabitArgs { list: true, .. } => {
                "--list: `cargo icb list` lists the tests; it takes the same filters, packages and targets"
            }
            _ => return Ok(()),
        };
        Err(Error::Usage(refused.to_owned()))
    }
}

/// Which tests of a target are meant.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Tests")]
pub(crate) struct FilterArgs {
    /// Filters are whole names
    #[arg(long)]
    pub(crate) exact: bool,
    /// Run only tests marked `#[ignore]`
    #[arg(long, conflicts_with = "include_ignored")]
    pub(crate) ignored: bool,
    /// Run tests marked `#[ignore]` as well
    #[arg(long)]
    pub(crate) include_ignored: bool,
    /// Leave out tests whose names contain this
    #[arg(long, value_name = "FILTER")]
    pub(crate) skip: Vec<String>,
}

/// Cargo's own options that select packages and targets; passed on as they are.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Packages and targets (as in cargo test)")]
pub(crate) struct TargetArgs {
    /// Package to test
    #[arg(short, long, value_name = "SPEC")]
    pub(crate) package: Vec<String>,
    /// Test all packages of the workspace
    #[arg(long, alias = "all")]
    pub(crate) workspace: bool,
    /// Leave out a package
    #[arg(long, value_name = "SPEC", requires = "workspace")]
    pub(crate) exclude: Vec<String>,
    /// Test the library
    #[arg(long)]
    pub(crate) lib: bool,
    /// Test all binaries
    #[arg(long)]
    pub(crate) bins: bool,
    /// Test this binary
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Vec<String>,
    /// Test all targets (benches, too, as tests)
    #[arg(long)]
    pub(crate) all_targets: bool,
    /// Test all integration tests, and what else is tested by default
    #[arg(long)]
    pub(crate) tests: bool,
    /// Test this integration test
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Vec<String>,
    /// Test all examples
    #[arg(long)]
    pub(crate) examples: bool,
    /// Test this example
    #[arg(long, value_name = "NAME")]
    pub(crate) example: Vec<String>,
    /// Test all benches, as tests
    #[arg(long)]
    pub(crate) benches: bool,
    /// Test this bench, as a test
    #[arg(long, value_name = "NAME")]
    pub(crate) bench: Vec<String>,
}

impl TargetArgs {
    /// As arguments of cargo.
    pub(crate) fn to_cargo(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let flags = [
            ("--workspace", self.workspace),
            ("--lib", self.lib),
            ("--bins", self.bins),
            ("--all-targets", self.all_targets),
            ("--tests", self.tests),
            ("--examples", self.examples),
            ("--benches", self.benches),
        ];
        arguments.extend(flags.iter().filter(|(_, on)| *on).map(|(flag, _)| (*flag).to_owned()));
        let lists = [
            ("--package", &self.package),
            ("--exclude", &self.exclude),
            ("--bin", &self.bin),
            ("--test", &self.test),
            ("--example", &self.example),
            ("--bench", &self.bench),
        ];
        for (flag, values) in lists {
            arguments.extend(values.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
        }
        arguments
    }
}

/// Cargo's own options that say how to build.
#[derive(Clone, PartialEq, Debug, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Building (as in cargo test)")]
#[serde(default)]
pub(crate) struct BuildArgs {
    /// Features to turn on
    #[arg(short = 'F', long, value_name = "FEATURES")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) features: Vec<String>,
    /// Turn on all features
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) all_features: bool,
    /// Leave the default features off
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_default_features: bool,
    /// Build for this target triple
    #[arg(long, value_name = "TRIPLE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// Build with the profile `release`
    #[arg(short, long, conflicts_with = "profile")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) release: bool,
    /// Build with this profile instead of an optimised one with debug assertions
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<String>,
    /// Compile this dependency against icb_std, its source untouched
    #[arg(long, value_name = "PACKAGE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) instrument: Vec<String>,
    /// Zero-change: of the dependencies, compile only these against icb_std
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
    /// Zero-change: compile this package as it is, against the real std
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) except: Vec<String>,
    /// Run tests that were written for loom: compile icb in the place of the crate `loom`, with `--cfg loom` or the
    /// configuration that is given
    #[arg(
        long,
        value_name = "CFG",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "loom",
        conflicts_with_all = ["only", "except", "instrument"]
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loom: Option<String>,
    /// The same for tests that were written for shuttle: compile icb in the place of the crate `shuttle`
    #[arg(
        long,
        value_name = "CFG",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "shuttle",
        conflicts_with_all = ["only", "except", "instrument", "accesses"]
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shuttle: Option<String>,
    /// Check every load and store of memory that no type wraps (raw pointers, `UnsafeCell::get`, `static mut`), or say why
    /// that is not possible [default: where there is unsafe code and it is possible]
    #[arg(long, overrides_with = "no_accesses")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) accesses: bool,
    /// Do not check them
    #[arg(long, overrides_with = "accesses")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_accesses: bool,
    /// Let cargo say only what goes wrong
    #[arg(short, long, conflicts_with = "verbose")]
    #[serde(skip)]
    pub(crate) quiet: bool,
    /// Let cargo say what it runs
    #[arg(short, long)]
    #[serde(skip)]
    pub(crate) verbose: bool,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    #[serde(skip)]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Where artifacts and failures go, in its directory `icb`
    #[arg(long, value_name = "DIRECTORY")]
    #[serde(skip)]
    pub(crate) target_dir: Option<PathBuf>,
    /// Where the mirrored std is kept, which is built once for all packages [default: the user's cache]
    #[arg(long, value_name = "DIRECTORY", env = "ICB_CACHE_DIR")]
    #[serde(skip)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// How many compilers, and then how many tests, run at a time [default: number of cores]
    #[arg(short, long, value_name = "N", alias = "test-threads", value_parser = parse_jobs, allow_negative_numbers = true)]
    #[serde(skip)]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
    /// Require that Cargo.lock is up to date
    #[arg(long)]
    #[serde(skip)]
    pub(crate) locked: bool,
    /// Do without the network
    #[arg(long)]
    #[serde(skip)]
    pub(crate) offline: bool,
    /// Both of these
    #[arg(long)]
    #[serde(skip)]
    pub(crate) frozen: bool,
}

impl BuildArgs {
    /// The profile that is asked for.
    pub(crate) fn profile(&self) -> Option<String> {
        self.profile.clone().or_else(|| self.release.then(|| "release".to_owned()))
    }

    /// The features, as arguments of cargo.
    pub(crate) fn features_to_cargo(&self) -> Vec<String> {
        let mut arguments: Vec<String> =
            self.features.iter().flat_map(|feature| ["--features".to_owned(), feature.clone()]).collect();
        let flags =
            [("--all-features", self.all_features), ("--no-default-features", self.no_default_features)];
        arguments.extend(flags.iter().filter(|(_, on)| *on).map(|(flag, _)| (*flag).to_owned()));
        arguments
    }

    /// How the lock file and the network are treated, as arguments of cargo.
    pub(crate) fn locking_to_cargo(&self) -> Vec<String> {
        let flags = [("--locked", self.locked), ("--offline", self.offline), ("--frozen", self.frozen)];
        flags.iter().filter(|(_, on)| *on).map(|(flag, _)| (*flag).to_owned()).collect()
    }

    /// How many tests run at a time.
    pub(crate) fn job_count(&self) -> usize {
        self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, usize::from)
    }
}

/// Reads the command line of `cargo-icb test …` and of `cargo-icb icb test …`, as cargo calls its subcommands.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "icb") {
        arguments.remove(1);
    }
    // For `cargo test`, options after it are the test executable's; here they are one kind.
    let selects_tests = arguments.get(1).is_some_and(|command| command == "test" || command == "list");
    if let Some(end) = arguments.iter().position(|word| word == "--").filter(|_| selects_tests) {
        arguments.remove(end);
    }
    Cli::try_parse_from(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &str) -> Result<Cli, clap::Error> {
        parse(words.split(' ').map(OsString::from))
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn both_ways_of_calling_are_understood() {
        for words in ["cargo-icb test --max-bound 3 -p a x y", "cargo-icb icb test x y --max-bound=3 -p a"] {
            let Command::Test(test) = parse_words(words).unwrap().command else { panic!("{words}") };
            assert_eq!((test.max_bound, test.filters.len()), (Bound::Limited(3), 2));
            assert_eq!(test.targets.to_cargo(), ["--package", "a"]);
        }
    }

    #[test]
    fn what_cargo_test_is_given_is_understood() {
        let words =
            "cargo-icb icb test --no-fail-fast -p a -- --exact x --skip y --nocapture --test-threads=2";
        let Command::Test(test) = parse_words(words).unwrap().command else { panic!() };
        assert_eq!((test.filters, test.filter.skip), (vec!["x".to_owned()], vec!["y".to_owned()]));
        assert!(test.filter.exact);
        assert_eq!(test.build.jobs.map(std::num::NonZeroUsize::get), Some(2));
    }

    #[test]
    fn selection_is_passed_on() {
        let words =
            "cargo-icb test --workspace --exclude b --lib --test t -F x,y --no-default-features --offline";
        let Command::Test(test) = parse_words(words).unwrap().command else { panic!() };
        assert_eq!(test.targets.to_cargo(), ["--workspace", "--lib", "--exclude", "b", "--test", "t"]);
        assert_eq!(test.build.features_to_cargo(), ["--features", "x,y", "--no-default-features"]);
        assert_eq!(test.build.locking_to_cargo(), ["--offline"]);
    }

    #[test]
    fn bad_input_is_named() {
        for (words, named) in [
            ("cargo-icb test --max-bound lots", "a number of preemptions"),
            ("cargo-icb test --max-time soon", "a duration is"),
            ("cargo-icb test --no-such-option", "--no-such-option"),
            ("cargo-icb test --granularity fine", "access"),
            ("cargo-icb tset", "test"),
            ("cargo-icb replay", "<TEST|FILE>"),
            ("cargo-icb test --ignored --include-ignored", "cannot be used with"),
            ("cargo-icb test -j 0", "'0' for '--jobs <N>': 0 at a time do nothing; give at least 1"),
            ("cargo-icb test --max-steps 0", "with a limit of 0 nothing is done"),
            ("cargo-icb test --max-executions 0", "with a limit of 0 nothing is done"),
            ("cargo-icb test --max-run-executions -3", "a whole number from 0 to"),
            ("cargo-icb test --random-seed -1", "a whole number from 0 to"),
            ("cargo-icb test --max-test-time 0", "a duration must be more than 0"),
            ("cargo-icb test --watchdog -1", "a duration is"),
            ("cargo-icb test --max-bound 4294967296", "a bound is a number of preemptions"),
            ("cargo-icb test --strategy pct:0", "a depth of at least 1"),
            ("cargo-icb test --shard 0/4", "shards are counted from 1"),
            ("cargo-icb test --shard 5/4", "there are 4 shards"),
            ("cargo-icb test --shard 1/0", "at least one shard"),
            ("cargo-icb test --shard 1/99999", "at most 10000 shards"),
            ("cargo-icb test --shard 1/2:3/2", "there are 2 shards"),
            ("cargo-icb test --exclude a", "--workspace"),
            ("cargo-icb diff x --bounds 1", "two bounds are"),
            ("cargo-icb diff x --bounds 1,1", "give two different bounds"),
        ] {
            let message = parse_words(words).map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(named), "{words}: {message}");
        }
    }
}
