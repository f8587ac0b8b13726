//! `cargo icb replay`: runs a stored or given schedule again and explains what happens.

use crate::cargo::build;
use crate::cargo::metadata::Workspace;
use crate::cargo::tests::{TargetId, Test, select};
use crate::cli::{BuildArgs, FilterArgs, ReplayArgs, TargetArgs};
use crate::exit_code::{Error, Exit};
use crate::report::console::Console;
use crate::report::failure::explanation;
use crate::report::notice;
use crate::settings::Search;
use crate::store::{self, Store, StoredFailure, resolve, test_path};
use crate::worker::replay::{self, Replay, Replayed};
use icb_core::trace::Schedule;
use std::path::Path;

/// What is to be replayed.
struct Wanted {
    stored: Option<StoredFailure>,
    schedule: Schedule,
    model: u32,
    search: Search,
    build: BuildArgs,
    targets: TargetArgs,
}

/// A test that has been built, with what is to be replayed of it.
pub(super) struct Ready<'a> {
    /// The workspace.
    pub(super) workspace: &'a Workspace,
    /// The test.
    pub(super) test: &'a Test<'a>,
    /// Its stored failure, if that is what is replayed.
    pub(super) stored: Option<&'a StoredFailure>,
    /// The schedule.
    pub(super) schedule: &'a Schedule,
    /// Which call of `model`.
    pub(super) model: u32,
    /// The settings under which it was found.
    pub(super) search: &'a Search,
}

impl Ready<'_> {
    /// Replays a schedule of the test.
    pub(super) fn replay(&self, schedule: &Schedule) -> Replayed {
        let directory = self.workspace.directory.join("work").join(test_path(&self.test.id)).join("replay");
        replay::run(Replay { test: self.test, model: self.model, schedule, search: self.search, directory })
    }
}

/// Builds the test that the arguments mean, and does something with it.
pub(super) fn with_test(
    arguments: &ReplayArgs,
    act: impl FnOnce(&Ready<'_>) -> Result<Exit, Error>,
) -> Result<Exit, Error> {
    with_checked_test(arguments, |_| Ok(()), act)
}

/// The same, if the schedule passes a check before anything is built.
pub(super) fn with_checked_test(
    arguments: &ReplayArgs,
    check: impl FnOnce(&Schedule) -> Result<(), Error>,
    act: impl FnOnce(&Ready<'_>) -> Result<Exit, Error>,
) -> Result<Exit, Error> {
    let workspace = Workspace::load(&arguments.build)?;
    let _lock = workspace.lock()?;
    let wanted = wanted(arguments, &workspace)?;
    wanted.search.check()?;
    if let Some(id) = wanted.stored.as_ref().map(StoredFailure::id)
        && !workspace.has_target(&id.target)
    {
        return Err(Error::NotStored(format!(
            "the stored failure of {id} is of a target that the workspace {} has no more; if it has been renamed, run `cargo icb test` again",
            workspace.root.display()
        )));
    }
    check(&wanted.schedule)?;
    let build = build::build(&workspace, &wanted.targets, &wanted.build)?;
    let all = FilterArgs { include_ignored: true, ..FilterArgs::default() };
    let tests = select(&build, &[], &all)?;
    let test = choose(arguments, &wanted, &tests)?;
    act(&Ready {
        workspace: &workspace,
        test,
        stored: wanted.stored.as_ref(),
        schedule: &wanted.schedule,
        model: wanted.model,
        search: &wanted.search,
    })
}

/// Runs the command.
pub(crate) fn run(arguments: &ReplayArgs) -> Result<Exit, Error> {
    if arguments.debugger {
        return with_test(arguments, super::debug::explain);
    }
    with_test(arguments, |ready| show(ready, arguments.full))
}

fn show(ready: &Ready<'_>, full: bool) -> Result<Exit, Error> {
    let test = ready.test;
    let replayed = ready.replay(ready.schedule);
    let mut console = Console::new(Vec::new());
    console.line(&format!("   Replaying {}", test.id));
    console.line("");
    let (exit, failure, last) = match replayed {
        Replayed::Fails(mut failure) => {
            let mut last = "The failure shows again.".to_owned();
            if let Some(stored) = ready.stored {
                failure.execution = stored.execution;
                failure.bound = stored.bound;
                if stored.kind != failure.kind {
                    last = format!(
                        "The schedule fails, but in another way; stored was {}: {}",
                        stored.kind, stored.message
                    );
                }
            }
            (Exit::TestFailed, failure, last)
        }
        Replayed::Passes(failure) => {
            let last = "The replay passes: this schedule no longer fails.";
            (Exit::Passed, failure, last.to_owned())
        }
        Replayed::Diverges(failure) => {
            let last = "The replay diverges: the program has changed since the schedule was stored, or it depends \
                        on something other than the schedule (time, addresses, randomness, files).";
            (Exit::Diverged, failure, last.to_owned())
        }
        Replayed::Refused(message) => return Err(Error::Usage(message)),
        Replayed::Broken(message) => return Err(Error::Internal(message)),
    };
    if exit == Exit::Passed {
        console.line("no failure");
    } else {
        for line in explanation(&failure, &ready.workspace.root, full) {
            console.line(&line);
        }
    }
    if exit == Exit::TestFailed {
        // For `diff` and `timeline`; without it they replay once more.
        let _ = Store::new(&ready.workspace.directory).save_trace(&test.id, &failure);
    }
    console.line("");
    console.line(&last);
    console.finish(exit)
}

/// Puts together what the command line says and what is stored; the command line wins.
fn wanted(arguments: &ReplayArgs, workspace: &Workspace) -> Result<Wanted, Error> {
    let given = match &arguments.schedule {
        Some(text) => {
            Some(text.parse::<Schedule>().map_err(|error| Error::Usage(format!("--schedule: {error}")))?)
        }
        None => None,
    };
    if let Some(schedule) = given {
        if std::env::var("ICB_REPLAY").ok() == arguments.schedule {
            notice::say("note: the schedule is that of the variable ICB_REPLAY, not a stored one");
        }
        return Ok(Wanted {
            stored: None,
            schedule,
            model: arguments.model.unwrap_or(0),
            search: arguments.search.clone(),
            build: arguments.build.clone(),
            targets: targets_of_name(arguments, workspace),
        });
    }
    if arguments.model.is_some() {
        return Err(Error::Usage(
            "--model (ICB_REPLAY_MODEL) says of which model a schedule is; give --schedule (ICB_REPLAY) as well, or neither"
                .to_owned(),
        ));
    }
    let stored = if store::is_file_name(&arguments.test) {
        store::load(Path::new(&arguments.test))?
    } else {
        Store::new(&workspace.directory).find(&arguments.test, &arguments.targets.package)?
    };
    let build = merged(&stored.build, &arguments.build);
    Ok(Wanted {
        schedule: stored.schedule.clone(),
        model: stored.model,
        search: stored.search.overridden_by(&arguments.search),
        build,
        targets: target_arguments(&stored.id().target),
        stored: Some(stored),
    })
}

/// How the test was built, unless the command line says otherwise; where things are on this machine, it alone says.
fn merged(stored: &BuildArgs, given: &BuildArgs) -> BuildArgs {
    let features = !given.features.is_empty() || given.all_features || given.no_default_features;
    let source = if features { given } else { stored };
    let list = |stored: &[String], given: &[String]| if given.is_empty() { stored } else { given }.to_vec();
    BuildArgs {
        features: source.features.clone(),
        all_features: source.all_features,
        no_default_features: source.no_default_features,
        target: given.target.clone().or_else(|| stored.target.clone()),
        release: false,
        profile: given.profile().or_else(|| stored.profile()),
        instrument: list(&stored.instrument, &given.instrument),
        only: list(&stored.only, &given.only),
        except: list(&stored.except, &given.except),
        loom: given.loom.clone().or_else(|| stored.loom.clone()),
        shuttle: given.shuttle.clone().or_else(|| stored.shuttle.clone()),
        accesses: given.accesses || stored.accesses && !given.no_accesses,
        no_accesses: given.no_accesses || stored.no_accesses && !given.accesses,
        ..given.clone()
    }
}

/// With a whole name `PACKAGE::TARGET::TEST`, that target alone; else what the command line selects.
fn targets_of_name(arguments: &ReplayArgs, workspace: &Workspace) -> TargetArgs {
    let parts: Vec<&str> = arguments.test.splitn(3, "::").collect();
    match parts.as_slice() {
        [package, label, _] if workspace.has_package(package) && arguments.targets.to_cargo().is_empty() => {
            target_arguments(&TargetId { package: (*package).to_owned(), label: (*label).to_owned() })
        }
        _ => arguments.targets.clone(),
    }
}

fn target_arguments(target: &TargetId) -> TargetArgs {
    let mut arguments = TargetArgs { package: vec![target.package.clone()], ..TargetArgs::default() };
    match target.to_cargo() {
        ("bin", Some(name)) => arguments.bin.push(name),
        ("example", Some(name)) => arguments.example.push(name),
        ("bench", Some(name)) => arguments.bench.push(name),
        (_, Some(name)) => arguments.test.push(name),
        (_, None) => arguments.lib = true,
    }
    arguments
}

fn choose<'a>(arguments: &ReplayArgs, wanted: &Wanted, tests: &'a [Test<'a>]) -> Result<&'a Test<'a>, Error> {
    let name =
        wanted.stored.as_ref().map_or_else(|| arguments.test.clone(), |stored| stored.id().to_string());
    let ids: Vec<String> = tests.iter().map(|test| test.id.to_string()).collect();
    let borrowed: Vec<&str> = ids.iter().map(String::as_str).collect();
    match resolve(&name, &borrowed).as_slice() {
        [] => Err(Error::NoTests(format!(
            "there is no test `{name}` in what was built; if it has been renamed, run `cargo icb test` again"
        ))),
        [one] => Ok(&tests[borrowed.iter().position(|id| id == one).unwrap_or_default()]),
        several => {
            Err(Error::Usage(format!("`{name}` could be any of {}; give the whole name", several.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_selected_alone() {
        for (label, expected) in [
            ("lib", "--lib --package p"),
            ("queue", "--package p --test queue"),
            ("test:lib", "--package p --test lib"),
            ("bin:tool", "--package p --bin tool"),
            ("example:demo", "--package p --example demo"),
            ("bench:demo", "--package p --bench demo"),
        ] {
            let target = TargetId { package: "p".to_owned(), label: label.to_owned() };
            assert_eq!(target_arguments(&target).to_cargo().join(" "), expected);
        }
    }

    #[test]
    fn a_replay_builds_as_the_search_did_unless_told_otherwise() {
        let stored =
            BuildArgs { features: vec!["a".into()], target: Some("t".into()), ..BuildArgs::default() };
        assert_eq!(merged(&stored, &BuildArgs::default()), stored);
        let given = BuildArgs { all_features: true, ..BuildArgs::default() };
        let both = merged(&stored, &given);
        assert!(both.all_features && both.features.is_empty() && both.target.as_deref() == Some("t"));
        let released = BuildArgs { release: true, ..BuildArgs::default() };
        for both in [merged(&released, &BuildArgs::default()), merged(&stored, &released)] {
            assert_eq!((both.release, both.profile.as_deref()), (false, Some("release")));
        }
    }

    #[test]
    fn where_things_are_the_command_line_says() {
        let given = BuildArgs {
            manifest_path: Some("Cargo.toml".into()),
            target_dir: Some("target".into()),
            cache_dir: Some("cache".into()),
            jobs: std::num::NonZeroUsize::new(3),
            quiet: true,
            verbose: true,
            locked: true,
            offline: true,
            frozen: true,
            ..BuildArgs::default()
        };
        let stored = BuildArgs {
            target_dir: Some("elsewhere".into()),
            cache_dir: Some("old".into()),
            ..given.clone()
        };
        assert_eq!(merged(&stored, &given), given);
        let nothing = merged(&stored, &BuildArgs::default());
        assert_eq!(nothing, BuildArgs::default());
    }
}
