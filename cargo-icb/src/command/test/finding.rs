//! What is told of a failure: it is stored, replayed to learn its trace, and gets the command that replays it.

use super::{Run, assembly};
use crate::cargo::tests::{Test, list};
use crate::cli::BuildArgs;
use crate::command::debug::word_for_shell;
use crate::event::Finding;
use crate::report::failure::roots;
use crate::settings::Search;
use crate::store::{StoredFailure, resolve};
use crate::worker::plan::Task;
use crate::worker::replay::Replayed;
use icb_core::trace::{Failure, FailureKind, Frame, Step, Trace};
use std::path::PathBuf;

impl Run<'_> {
    /// Stores a failure and replays it to learn its trace.
    pub(super) fn explain(&self, task: Task, model: u32, failure: &Failure) -> Finding {
        if failure.kind == FailureKind::Divergence {
            return self.explain_divergence(task, model, failure);
        }
        let test = &self.tests[task.test];
        let mut notes = Vec::new();
        // What has been decided for this build holds for its replay.
        let accesses = test.executable.accesses;
        let build = &BuildArgs { accesses, no_accesses: !accesses, ..self.arguments.build.clone() };
        let search = &self.search_of(task.test);
        let stored = StoredFailure::new(&test.id, model, failure, search, build);
        let mut command = self.command(test);
        match self.store.save(&stored) {
            Ok(path) => notes.push(format!("Stored in {}", path.display())),
            Err(error) => {
                notes.push(format!("Not stored: {error}"));
                command = self.command_with_schedule(test, search, model, failure);
            }
        }
        let mut shown = failure.clone();
        match self.replay(task, model, failure, search) {
            Replayed::Fails(replayed) => {
                if replayed.kind != failure.kind {
                    notes.push(format!("The search found: {failure}"));
                }
                if replayed.schedule != failure.schedule && !replayed.schedule.entries().is_empty() {
                    // A simpler one; if it cannot be stored, the one that was found is.
                    let search = Search { simplify: None, ..search.clone() };
                    let _ = self.store.save(&StoredFailure::new(&test.id, model, &replayed, &search, build));
                }
                shown = *replayed;
                if shown.schedule.entries().is_empty() {
                    shown.schedule = failure.schedule.clone();
                }
            }
            Replayed::Passes(passed) => {
                shown.trace = passed.trace;
                notes.push(
                    "The replay passed: the test depends on something other than the schedule (time, addresses, randomness, files)".to_owned(),
                );
            }
            Replayed::Diverges(divergence) => {
                notes.push(format!("The replay did not follow the schedule: {}", divergence.message));
            }
            Replayed::Refused(message) | Replayed::Broken(message) => {
                notes.push(format!("The replay could not be run: {message}"))
            }
        }
        notes.extend(for_no_reason(&shown));
        notes.extend(shared_code(test, &shown));
        notes.extend(assembly::note(&shown, frames(&shown), &roots(&self.workspace.root)));
        shown.execution = failure.execution;
        shown.bound = failure.bound;
        if let Err(error) = self.store.save_trace(&test.id, &shown) {
            notes.push(format!("The trace is not stored: {error}"));
        }
        Finding { failure: shown, notes, command: Some(command) }
    }

    /// What the test was about to do where it did not follow its schedule, and what it does there in another process, which nothing has been left to.
    fn explain_divergence(&self, task: Task, model: u32, failure: &Failure) -> Finding {
        let note = "There is nothing to replay: the test does not do the same under the same schedule.";
        let mut finding = Finding { failure: failure.clone(), notes: vec![note.to_owned()], command: None };
        let search = &self.search_of(task.test);
        if search.isolated != Some(true) && search.searched_alone().is_none() {
            let advice = "If it minds what earlier executions leave behind (a global that is not icb_std's, memory that is never freed): with --isolated each has a process of its own.";
            finding.notes.push(advice.to_owned());
        }
        let Some(thread) = failure.thread else { return finding };
        let replayed = self.replay(task, model, failure, search);
        let (Replayed::Fails(mut replayed) | Replayed::Passes(mut replayed)) = replayed else {
            return finding;
        };
        let count = failure.schedule.step_count();
        let trace = &mut replayed.trace;
        // What is no step of its own bears the number of the one after.
        let end = trace.steps.partition_point(|step| step.index < count);
        let next = trace.steps[end..].iter().find(|step| step.thread == thread && step.is_own());
        let place = next.and_then(|step| step.location.as_ref());
        let (here, there) = (failure.location.as_ref(), place.map(ToString::to_string));
        let what = match (next, there) {
            _ if trace.step_count() < count => return finding,
            (Some(_), Some(there)) if here.is_some_and(|here| here.to_string() == there) => {
                "comes to the same place; it was an earlier execution that did something else".to_owned()
            }
            (Some(step), there) => {
                let at = there.map_or_else(String::new, |there| format!(" at {there}"));
                format!("goes on with {:?}{at}", step.operation.action)
            }
            (None, _) => "has nothing more to do".to_owned(),
        };
        finding.notes.insert(0, format!("With the same schedule {thread} {what} in a process of its own."));
        trace.steps.truncate(end);
        let failure_backtrace = failure.trace.failure_backtrace.clone();
        finding.failure.trace =
            Trace { schedule: failure.schedule.clone(), failure_backtrace, ..std::mem::take(trace) };
        finding
    }

    /// The shortest command that replays a test's stored failure.
    fn command(&self, test: &Test<'_>) -> String {
        let mut ids: Vec<String> = self.tests.iter().map(|test| test.id.to_string()).collect();
        ids.extend(
            self.store.all().into_iter().filter_map(|(_, stored)| Some(stored.ok()?.id().to_string())),
        );
        ids.sort();
        ids.dedup();
        let borrowed: Vec<&str> = ids.iter().map(String::as_str).collect();
        let name = if resolve(&test.id.name, &borrowed).len() == 1 {
            test.id.name.clone()
        } else {
            test.id.to_string()
        };
        format!("cargo icb replay {}{}", word_for_shell(&name), self.places())
    }

    /// The command that replays a failure that is not stored, and neither is how it was found and built.
    fn command_with_schedule(
        &self,
        test: &Test<'_>,
        search: &Search,
        model: u32,
        failure: &Failure,
    ) -> String {
        let mut command = String::new();
        for (name, value) in search.environment() {
            command += &format!("{name}={value} ");
        }
        let (test, schedule) = (test.id.to_string(), failure.schedule.to_string());
        command +=
            &format!("cargo icb replay {} --schedule {}", word_for_shell(&test), word_for_shell(&schedule));
        if model > 0 {
            command += &format!(" --model {model}");
        }
        for argument in self.arguments.build.features_to_cargo() {
            command += &format!(" {}", word_for_shell(&argument));
        }
        command + &self.places()
    }

    /// Where the manifest, the artifacts and the mirrored std are, if that was said.
    fn places(&self) -> String {
        places(&self.arguments.build, std::env::var_os(CACHE_DIR).map(PathBuf::from))
    }
}

/// The variable in which the directory of the mirrored std may stand.
const CACHE_DIR: &str = "ICB_CACHE_DIR";

/// The options that say where things are. A directory that is in the variable is there in the replay, too.
fn places(build: &BuildArgs, in_variable: Option<PathBuf>) -> String {
    let cache_dir = build.cache_dir.clone().filter(|directory| Some(directory) != in_variable.as_ref());
    let given = [
        ("--manifest-path", &build.manifest_path),
        ("--target-dir", &build.target_dir),
        ("--cache-dir", &cache_dir),
    ];
    let given = given.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?)));
    given.map(|(option, path)| format!(" {option} {}", word_for_shell(&path.display().to_string()))).collect()
}

/// What there is to say of a failure that takes something that happens for no reason: not everywhere does it.
fn for_no_reason(failure: &Failure) -> Option<String> {
    let steps = || failure.trace.steps.iter();
    let what = if steps().any(Step::fails_spuriously) {
        "A weak exchange fails for no reason here, as it may on processors other than x86"
    } else if steps().any(Step::wakes_spuriously) {
        "A wait ends for no reason here, as the documentation of std allows"
    } else {
        return None;
    };
    Some(format!("{what}; --spurious=false leaves such executions out."))
}

/// What there is to say where backtraces name another test: the compiler keeps one copy of functions that are the same.
fn shared_code(test: &Test<'_>, failure: &Failure) -> Option<String> {
    let frames: Vec<&Frame> = frames(failure).collect();
    if frames.is_empty() {
        return None;
    }
    let names = list(test.executable, &[]).unwrap_or_default();
    let other = names.iter().filter(|name| **name != test.id.name);
    let named = other.filter(|name| frames.iter().any(|frame| is_of(&frame.function, name)));
    let named: Vec<String> = named.map(|name| format!("`{name}`")).collect();
    (!named.is_empty()).then(|| {
        format!(
            "Where a backtrace names {}, that code is the same in this test: the compiler keeps one copy of functions that are equal.",
            named.join(", ")
        )
    })
}

/// All frames that a report may show.
fn frames(failure: &Failure) -> impl Iterator<Item = &Frame> {
    let trace = &failure.trace;
    let preempted = trace.steps.iter().filter_map(|step| step.preempted.as_ref()).flatten();
    let racing = failure.race.iter().flat_map(|race| race.iter()).flat_map(|access| &access.backtrace);
    let waiting = failure.waiting.iter().flat_map(|entry| &entry.backtrace);
    let memory = failure.memory.iter().flat_map(|event| &event.backtrace);
    preempted.chain(racing).chain(waiting).chain(memory).chain(&trace.failure_backtrace)
}

/// Whether a function belongs to the test: `crate::module::test`, or a closure in it.
fn is_of(function: &str, test: &str) -> bool {
    let path = function.split_once("::").map_or("", |(_, path)| path);
    path.strip_prefix(test).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::ThreadId;

    #[test]
    fn functions_are_assigned_to_tests() {
        assert!(is_of("app::queue::pops::{{closure}}", "queue::pops"));
        assert!(is_of("app::pops", "pops"));
        for function in ["app::pops_twice", "app::queue::pops", "pops", "other::helper"] {
            assert!(!is_of(function, "pops"), "{function}");
        }
    }

    #[test]
    fn the_command_says_where_things_are_if_that_was_said() {
        assert_eq!(places(&BuildArgs::default(), None), "");
        let build = BuildArgs {
            target_dir: Some("other target".into()),
            cache_dir: Some("/tmp/cache".into()),
            ..BuildArgs::default()
        };
        let all = " --target-dir 'other target' --cache-dir /tmp/cache";
        assert_eq!(places(&build, None), all);
        assert_eq!(places(&build, Some("/elsewhere".into())), all);
        assert_eq!(places(&build, Some("/tmp/cache".into())), " --target-dir 'other target'");
    }

    #[test]
    fn backtraces_of_accesses_are_looked_through() {
        let mut failure = Failure::new(FailureKind::DataRace, "x");
        let mut access = icb_core::trace::RaceAccess::new(ThreadId::new(0), true);
        access.backtrace = vec![Frame { function: "app::a".to_owned(), location: None }];
        failure.race = Some(Box::new([access.clone(), access]));
        assert_eq!(frames(&failure).count(), 2);
    }
}
