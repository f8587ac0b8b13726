//! All tests. They are built at once, and then run in two lanes: those that run the tool wait most of the time for one thread of a
//! compiler, or for time to pass, and the others go on beside them.
//!
//! Cargo runs all of them, as `cargo test --workspace` does. Which there are is what cargo says it has built, and in the end as many
//! executables have to have told how they ended.

use crate::steps::{cannot_run, cargo};
use crate::summary::{Tests, tests_of};
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Tests that run the tool, in groups that share a target directory with builds and results of their own: those of a group run one
/// after the other. The first group takes longest.
const GROUPS: [&[&str]; 2] = [&["cli", "mistakes", "reports", "tutorials"], &["interruption", "machines"]];

/// How many lanes there are.
const LANES: usize = 2;

/// All tests, with a summary over all executables.
pub(crate) fn tests(root: &Path) -> Result<String, String> {
    let started = Instant::now();
    let built = build(root)?;
    println!("built in {:.0} s: {} executables", started.elapsed().as_secs_f64(), built.count);
    let outcome = Mutex::new(Outcome::default());
    in_lanes(jobs(&built)?, |job| job.commands.iter().for_each(|arguments| run(root, arguments, &outcome)));
    let Outcome { tests, ended, wrong } = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    match wrong.into_iter().next() {
        Some(first) => Err(format!("{tests} ({first})")),
        None if ended != built.count => {
            Err(format!("{tests}, but {ended} of {} executables have ended", built.count))
        }
        None => Ok(tests.to_string()),
    }
}

/// What cargo has built.
#[derive(PartialEq, Eq, Debug, Default)]
struct Built {
    /// Test executables.
    count: usize,
    /// The names of those that are files, or directories, in `tests`.
    names: BTreeSet<String>,
}

impl Built {
    /// Takes in a line of cargo: `Executable tests/cli.rs (target/debug/deps/cli-…)`.
    fn add(&mut self, line: &str) {
        let Some(what) = line.trim_start().strip_prefix("Executable ") else { return };
        self.count += 1;
        if let Some(path) = what.split(" (").next().and_then(|path| path.strip_prefix("tests/")) {
            let name = path.strip_suffix("/main.rs").or(path.strip_suffix(".rs")).unwrap_or(path);
            self.names.insert(name.to_owned());
        }
    }
}

/// Some tests, one command of cargo after another.
#[derive(PartialEq, Eq, Debug)]
struct Job {
    commands: Vec<Vec<String>>,
}

/// What the lanes have to do, what takes longest first.
fn jobs(built: &Built) -> Result<VecDeque<Job>, String> {
    let apart: Vec<&str> = GROUPS.concat();
    if let Some(missing) = apart.iter().find(|&&name| !built.names.contains(name)) {
        return Err(format!("there is no test `{missing}`, which ci/src/lanes.rs names"));
    }
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let others = built.names.iter().filter(|name| !apart.contains(&name.as_str()));
    let mut rest = words(&["--lib", "--bins"]);
    rest.extend(others.flat_map(|name| words(&["--test", name])));
    let group =
        |names: &[&str]| Job { commands: names.iter().map(|name| words(&["--test", name])).collect() };
    let [first, second] = GROUPS.map(group);
    let rest = Job { commands: vec![rest, words(&["--doc"])] };
    Ok([first, rest, second].into())
}

/// Does the jobs, each lane the next one that no other has taken.
fn in_lanes<T: Send>(jobs: VecDeque<T>, work: impl Fn(T) + Sync) {
    let queue = Mutex::new(jobs);
    // The lock is given back before the job is done.
    let next = || locked(&queue).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| std::iter::from_fn(next).for_each(&work));
        }
    });
}

/// What came out so far.
#[derive(Debug, Default)]
struct Outcome {
    tests: Tests,
    /// Executables that have told how they ended.
    ended: usize,
    wrong: Vec<String>,
}

/// Builds all test executables. The build is one of many crates that nobody is about to change.
fn build(root: &Path) -> Result<Built, String> {
    let mut command = test(root, &["--no-run".to_owned()]);
    command.args(["--color", "never"]).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| cannot_run(&error))?;
    let mut built = Built::default();
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            eprintln!("{line}");
            built.add(&line);
        }
    }
    let status = child.wait().map_err(|error| cannot_run(&error))?;
    if status.success() { Ok(built) } else { Err(format!("the tests are not built (cargo test: {status})")) }
}

fn test(root: &Path, selection: &[String]) -> Command {
    let mut command = cargo(root, &["test", "--workspace", "--no-fail-fast"]);
    // What is kept for the next build takes time in this one, and so does code that was cut into small pieces for that.
    command.args(selection).env("CARGO_INCREMENTAL", "0");
    command
}

/// Runs some tests, and prints what they have said when they have ended: the lanes are not mixed.
fn run(root: &Path, selection: &[String], outcome: &Mutex<Outcome>) {
    let is_doc = selection.iter().any(|word| word == "--doc");
    println!("begins: {}", title(selection));
    let said = output(test(root, selection));
    let mut outcome = locked(outcome);
    match said {
        Ok((text, success)) => {
            print!("{text}");
            for tests in text.lines().filter_map(tests_of) {
                outcome.tests.add(tests);
                outcome.ended += usize::from(!is_doc);
            }
            if !success {
                outcome.wrong.push(format!("failed: {}", title(selection)));
            }
        }
        Err(error) => outcome.wrong.push(cannot_run(&error)),
    }
}

/// A selection in few words.
fn title(selection: &[String]) -> String {
    if selection.len() > 2 { "all that does not run the tool".to_owned() } else { selection.join(" ") }
}

/// All that a command prints, in the order in which it does, and whether it succeeds.
fn output(mut command: Command) -> std::io::Result<(String, bool)> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // It holds the writing ends, without which there would be no end.
    drop(command);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), child.wait()?.success()))
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(lines: &[&str]) -> Built {
        let mut built = Built::default();
        lines.iter().for_each(|line| built.add(line));
        built
    }

    #[test]
    fn what_cargo_has_built_is_counted_and_named() {
        let built = built(&[
            "   Compiling cli v0.1.0 (/a/tests/cli.rs)",
            "  Executable unittests src/lib.rs (target/debug/deps/icb_core-0)",
            "  Executable tests/cli.rs (target/debug/deps/cli-0)",
            "  Executable tests/meanings/main.rs (target/debug/deps/meanings-0)",
        ]);
        let names = ["cli", "meanings"].map(str::to_owned).into();
        assert_eq!(built, Built { count: 3, names });
    }

    #[test]
    fn each_is_run_once() {
        let names = ["a", "cli", "interruption", "machines", "mistakes", "reports", "tutorials", "z"]
            .map(str::to_owned);
        let built = Built { count: 8, names: names.clone().into() };
        let jobs = jobs(&built).unwrap();
        let commands = jobs.iter().flat_map(|job| &job.commands).flatten();
        let mut run: Vec<&String> = commands.filter(|word| !word.starts_with("--")).collect();
        run.sort();
        assert_eq!(run, names.iter().collect::<Vec<_>>());
        assert_eq!(jobs[1].commands[0].join(" "), "--lib --bins --test a --test z");
    }

    #[test]
    fn lanes_work_at_the_same_time() {
        let (sender, receiver) = std::sync::mpsc::sync_channel(0);
        let receiver = Mutex::new(receiver);
        // Neither ends without the other.
        in_lanes([false, true].into(), |sends| match sends {
            true => sender.send(()).unwrap(),
            false => {
                locked(&receiver).recv_timeout(std::time::Duration::from_secs(20)).unwrap();
            }
        });
    }

    #[test]
    fn a_test_that_is_gone_is_missed() {
        assert!(jobs(&built(&["Executable tests/cli.rs (a)"])).unwrap_err().contains("no test `"));
    }
}
