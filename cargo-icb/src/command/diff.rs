//! `cargo icb diff`: a failing execution beside the nearest one that passes, executions of two bounds, or two stored
//! traces.

use super::replay::{Ready, with_checked_test};
use crate::cargo::metadata::Workspace;
use crate::cli::{DiffArgs, ReplayArgs};
use crate::exit_code::{Error, Exit};
use crate::report::console::Console;
use crate::report::diff::{Comparison, Side, lines};
use crate::report::json::Line;
use crate::report::plain::count_of;
use crate::runs;
use crate::store::{is_file_name, load_trace};
use crate::worker::replay::Replayed;
use icb_core::trace::table::costs;
use icb_core::trace::{Failure, Schedule, ScheduleEntry, Trace};
use std::path::Path;

/// Runs the command.
pub(crate) fn run(arguments: &DiffArgs) -> Result<Exit, Error> {
    if let Some(other) = &arguments.other {
        return files(arguments, Path::new(&arguments.test), other);
    }
    if is_file_name(&arguments.test) {
        return Err(Error::Usage(format!(
            "{} is to be compared with what: name the file of another trace after it, or a test instead",
            arguments.test
        )));
    }
    let replay = ReplayArgs {
        test: arguments.test.clone(),
        schedule: None,
        model: None,
        search: arguments.search.clone(),
        targets: arguments.targets.clone(),
        build: arguments.build.clone(),
        full: arguments.full,
        debugger: false,
    };
    let check = |schedule: &Schedule| match arguments.bounds {
        Some(pair) => check_bounds(pair, schedule),
        None => Ok(()),
    };
    with_checked_test(&replay, check, |ready| match arguments.bounds {
        Some((first, second)) => bounds(arguments, ready, first, second),
        None => nearest(arguments, ready),
    })
}

/// Refuses bounds that both have all of the failure: it would be compared with itself.
fn check_bounds((first, second): (u32, u32), schedule: &Schedule) -> Result<(), Error> {
    let all = schedule.preemption_count();
    if first.min(second) < all {
        return Ok(());
    }
    if all == 0 {
        return Err(Error::NotStored(
            "--bounds: the failure has no preemption, so there is no bound below it to compare it with; leave --bounds out".to_owned(),
        ));
    }
    Err(Error::Usage(format!(
        "--bounds {first},{second}: the failure has {}, so both would be the failing execution itself; give a bound below that, \
         such as --bounds {},{all}",
        costs(schedule, &Trace::default()),
        all - 1
    )))
}

fn files(arguments: &DiffArgs, first: &Path, second: &Path) -> Result<Exit, Error> {
    let root = Workspace::load(&arguments.build).map(|workspace| workspace.root).unwrap_or_default();
    let (left, right) = (load_trace(first)?, load_trace(second)?);
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let side = |path: &Path, which, called, failure| {
        let title = format!("{} ({which} file)", name(path));
        Side { title, called, failure, fails: true }
    };
    print(&lines(&Comparison {
        left: side(first, "first", "the first file", &left.failure),
        right: side(second, "second", "the second file", &right.failure),
        same_program: false,
        root: &root,
        full: arguments.full,
    }))
}

/// The failing execution, and the one that has its prefix up to its last preemption and goes on without. Where there is
/// none, one that lacks an order that the failure takes.
fn nearest(arguments: &DiffArgs, ready: &Ready<'_>) -> Result<Exit, Error> {
    let failing = fails(ready)?;
    let last = failing.schedule.preemption_count();
    let mut tries = Vec::new();
    if last > 0 {
        tries.push(before_cost(&failing.schedule, last));
    }
    if let Some(explanation) = &failing.trace.explanation {
        let others = explanation.orders.iter().filter_map(|order| order.without.clone());
        tries.extend(others.filter(|other| !other.entries().is_empty()));
    }
    let passing = tries.iter().find_map(|schedule| match ready.replay(schedule) {
        Replayed::Passes(passed) => Some(*passed),
        _ => None,
    });
    let Some(passing) = passing else {
        return Err(Error::NotStored(format!(
            "{} fails without a preemption too, and no passing execution near it was found; `cargo icb replay` explains \
             the failure itself",
            ready.test.id
        )));
    };
    print(&[ready.test.id.to_string(), String::new()])?;
    print(&lines(&Comparison {
        left: side(&failing, true, "the failing one"),
        right: side(&passing, false, "the passing one"),
        same_program: true,
        root: &ready.workspace.root,
        full: arguments.full,
    }))
}

/// An execution, headed by how it ends and what it costs.
fn side<'a>(failure: &'a Failure, fails: bool, called: &'static str) -> Side<'a> {
    let word = if fails { "fails" } else { "passes" };
    let title = format!("{word}, {}", costs(&failure.trace.schedule, &failure.trace));
    Side { title, called, failure, fails }
}

/// Executions with so many preemptions of the failing one, and what is known of the two bounds.
fn bounds(arguments: &DiffArgs, ready: &Ready<'_>, first: u32, second: u32) -> Result<Exit, Error> {
    let failing = fails(ready)?;
    let at = |bound: u32| -> Result<(Failure, bool), Error> {
        let all = failing.schedule.preemption_count();
        if bound >= all {
            return Ok((failing.clone(), true));
        }
        match ready.replay(&before_cost(&failing.schedule, bound + 1)) {
            Replayed::Passes(passed) => Ok((*passed, false)),
            Replayed::Fails(failure) => Ok((*failure, true)),
            Replayed::Diverges(failure) => Err(Error::Internal(failure.message)),
            Replayed::Refused(message) => Err(Error::Usage(message)),
            Replayed::Broken(message) => Err(Error::Internal(message)),
        }
    };
    let (left, right) = (at(first)?, at(second)?);
    let mut text = vec![ready.test.id.to_string(), String::new()];
    let figures = figures(&ready.workspace.directory, &ready.test.id.to_string());
    for bound in [first, second] {
        let known = figures.iter().find(|(known, _)| *known == bound);
        let known = known.map_or("not in a stored run".to_owned(), |(_, figures)| figures.clone());
        text.push(format!("    bound {bound}: {known}"));
    }
    text.push(String::new());
    print(&text)?;
    // Both may fail, and both may pass.
    let called = |fails: bool, other: bool, one: &'static str| match (fails, other) {
        (true, false) => "the failing one",
        (false, true) => "the passing one",
        _ => one,
    };
    print(&lines(&Comparison {
        left: side(&left.0, left.1, called(left.1, right.1, "the first one")),
        right: side(&right.0, right.1, called(right.1, left.1, "the second one")),
        same_program: true,
        root: &ready.workspace.root,
        full: arguments.full,
    }))
}

fn fails(ready: &Ready<'_>) -> Result<Failure, Error> {
    match ready.replay(ready.schedule) {
        Replayed::Fails(failure) => Ok(*failure),
        Replayed::Passes(_) => Err(Error::NotStored(format!(
            "the stored failure of {} no longer fails; run `cargo icb test` again",
            ready.test.id
        ))),
        Replayed::Diverges(failure) => Err(Error::NotStored(format!(
            "the stored failure of {} is of another version of the test ({}); run `cargo icb test` again",
            ready.test.id, failure.message
        ))),
        Replayed::Refused(message) => Err(Error::Usage(message)),
        Replayed::Broken(message) => Err(Error::Internal(message)),
    }
}

/// The schedule up to, and without, what costs its unit with this number, counted from 1.
fn before_cost(schedule: &Schedule, number: u32) -> Schedule {
    let mut spent = 0;
    let kept = schedule.entries().iter().take_while(|entry| {
        spent += match **entry {
            ScheduleEntry::Run { preemption, early, .. } => u32::from(preemption) + u32::from(early),
            ScheduleEntry::Branch { costly, .. } => u32::from(costly),
        };
        spent < number
    });
    Schedule::new(kept.copied().collect())
}

/// What the latest run that knows a test tells of its bounds.
fn figures(directory: &Path, test: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for number in (1..=runs::latest(directory)).rev() {
        let Ok(lines) = runs::read(directory, &number.to_string()) else { continue };
        for line in lines {
            if let Line::TestFinished(finished) = line
                && finished.test == test
                && let Some(figures) = &finished.figures
            {
                let steps = count_of(figures.steps, "step");
                let states = count_of(figures.states, "state");
                let failures = count_of(figures.failures, "failure");
                let executions = count_of(figures.executions, "execution");
                found.push((finished.bound, format!("{executions}, {steps}, {states}, {failures}")));
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

fn print(lines: &[String]) -> Result<Exit, Error> {
    let mut console = Console::new(Vec::new());
    lines.iter().for_each(|line| console.line(line));
    console.finish(Exit::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_compared_with_itself() {
        let two: Schedule = "icb1:0*3!1*2!0".parse().unwrap();
        for pair in [(0, 1), (1, 0), (1, 7), (9, 1)] {
            check_bounds(pair, &two).unwrap();
        }
        let error = check_bounds((5, 7), &two).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        assert!(
            error.to_string().contains("2 preemptions") && error.to_string().contains("such as --bounds 1,2"),
            "{error}"
        );
        let stale: Schedule = "icb1:0*3?1!!1".parse().unwrap();
        let error = check_bounds((5, 7), &stale).unwrap_err().to_string();
        assert!(error.contains("1 preemption and 1 other cost"), "{error}");
        assert_eq!(check_bounds((0, 1), &Schedule::default()).unwrap_err().exit(), Exit::Stored);
    }

    #[test]
    fn schedules_are_cut_before_what_costs() {
        let schedule: Schedule = "icb1:0*3!1*2,0!1?1!".parse().unwrap();
        for (number, expected) in [(1, "icb1:0*3"), (2, "icb1:0*3!1*2,0"), (3, "icb1:0*3!1*2,0!1")] {
            assert_eq!(before_cost(&schedule, number).to_string(), expected);
        }
    }
}
