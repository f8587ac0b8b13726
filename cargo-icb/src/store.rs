//! Failures on disk: one readable file for each failing test, from which it can be replayed.
//!
//! `<target>/icb/failures/<package>/<target>/<test>.json`. A file is written whole or not at all, and one that
//! cannot be read is never overwritten: it may be the only copy of somebody's bug.

use crate::cargo::tests::{TargetId, TestId};
use crate::cli::BuildArgs;
use crate::exit_code::Error;
use crate::kind::{Kind, of_another};
use crate::resume::checksum;
use crate::settings::Search;
use icb_core::trace::{Failure, FailureKind, Schedule, Trace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Version of the file format.
const FORMAT: u32 = 1;

/// A stored failure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct StoredFailure {
    /// Version of the file format.
    format: u32,
    /// Version of cargo-icb that wrote it.
    version: String,
    /// Package of the test.
    pub(crate) package: String,
    /// Target of the test, as in `PACKAGE::TARGET::TEST`.
    pub(crate) target: String,
    /// Name of the test.
    pub(crate) test: String,
    /// Which call of `model` in the test.
    pub(crate) model: u32,
    /// Kind of failure.
    pub(crate) kind: FailureKind,
    /// What went wrong.
    pub(crate) message: String,
    /// Number of preemptions.
    pub(crate) bound: u32,
    /// Number of the execution that showed it.
    pub(crate) execution: u64,
    /// The settings under which it was found.
    pub(crate) search: Search,
    /// How the test was built.
    pub(crate) build: BuildArgs,
    /// The schedule, in its text form.
    pub(crate) schedule: Schedule,
}

impl StoredFailure {
    /// What is stored of a failure.
    pub(crate) fn new(
        test: &TestId,
        model: u32,
        failure: &Failure,
        search: &Search,
        build: &BuildArgs,
    ) -> Self {
        StoredFailure {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            package: test.target.package.clone(),
            target: test.target.label.clone(),
            test: test.name.clone(),
            model,
            kind: failure.kind,
            message: failure.message.clone(),
            bound: failure.bound,
            execution: failure.execution,
            search: search.clone(),
            build: build.clone(),
            schedule: failure.schedule.clone(),
        }
    }

    /// The test that failed.
    pub(crate) fn id(&self) -> TestId {
        let target = TargetId { package: self.package.clone(), label: self.target.clone() };
        TestId { target, name: self.test.clone() }
    }
}

/// A stored trace: a failure with every step, to be compared with another one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct StoredTrace {
    format: u32,
    /// The test, `PACKAGE::TARGET::TEST`.
    pub(crate) test: String,
    /// The failure.
    pub(crate) failure: Failure,
}

/// Where to look for one.
const TRACES: &str = "traces are in the directory `traces` beside `failures`";

/// Reads a stored trace.
pub(crate) fn load_trace(path: &Path) -> Result<StoredTrace, Error> {
    let remedy = "`cargo icb replay` of the test writes it anew";
    let other = |error| format!("it is no trace ({error}); {TRACES}");
    let read = read(path, ("trace", remedy), TRACES, other);
    read.map_err(|error| of_another(path, Kind::Trace).unwrap_or(error))
}

/// Reads a stored failure, wherever its file is: here, or brought from another machine.
pub(crate) fn load(path: &Path) -> Result<StoredFailure, Error> {
    let remedy = "delete it and run `cargo icb test` again, or replay with --schedule TEXT";
    let other = |error| format!("it is no stored failure ({error})");
    let read = read(path, ("failure", remedy), "`cargo icb test` says where it stores a failure", other);
    read.map_err(|error| of_another(path, Kind::Failure).unwrap_or(error))
}

/// Reads what is stored in a file, if that has the format of this version. `what`: its name, and what to do where it is damaged; `place`: where such files
/// are; `other`: that it is something else.
fn read<T: DeserializeOwned>(
    path: &Path,
    (what, remedy): (&'static str, &'static str),
    place: &str,
    other: impl Fn(serde_json::Error) -> String,
) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let damaged = |reason: String| Error::Damaged { what, remedy, path: path.to_path_buf(), reason };
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::NotStored(format!("there is no file {}; {place}", path.display())),
        _ => damaged(error.to_string()),
    })?;
    let version: Version = serde_json::from_str(&text).map_err(|error| damaged(other(error)))?;
    if version.format != FORMAT {
        let reason = format!("it has format {}, this cargo-icb reads format {FORMAT}", version.format);
        return Err(damaged(reason));
    }
    serde_json::from_str(&text).map_err(|error| damaged(other(error)))
}

/// Whether what stands in the place of a test's name is the file of a trace, or of a failure.
pub(crate) fn is_file_name(text: &str) -> bool {
    let path = Path::new(text);
    path.is_file() || path.extension().is_some_and(|extension| extension == "json")
}

/// The directory of stored failures.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    directory: PathBuf,
}

impl Store {
    /// The store of the target directory `<target>/icb`.
    pub(crate) fn new(icb_directory: &Path) -> Store {
        Store { directory: icb_directory.join("failures") }
    }

    /// Where a test's failure is stored.
    pub(crate) fn path(&self, test: &TestId) -> PathBuf {
        self.directory.join(test_path(test)).with_added_extension("json")
    }

    /// Stores a failure, in place of an earlier one of the same test unless that is damaged.
    pub(crate) fn save(&self, stored: &StoredFailure) -> Result<PathBuf, Error> {
        let path = self.path(&stored.id());
        if path.exists() {
            load(&path)?;
        }
        let text = serde_json::to_string_pretty(stored).map_err(std::io::Error::from);
        text.and_then(|text| write_whole(&path, &(text + "\n")))
            .map_err(|error| Error::unwritable(&path, error))?;
        Ok(path)
    }

    /// Stores the trace of a test's failure, in place of an earlier one.
    pub(crate) fn save_trace(&self, test: &TestId, failure: &Failure) -> Result<PathBuf, Error> {
        let path = self.trace_path(test);
        let stored = StoredTrace { format: FORMAT, test: test.to_string(), failure: failure.clone() };
        let text = serde_json::to_string(&stored).map_err(std::io::Error::from);
        text.and_then(|text| write_whole(&path, &text)).map_err(|error| Error::unwritable(&path, error))?;
        Ok(path)
    }

    /// The trace of a stored failure; an empty one if it is not stored, or that of another failure of the test.
    pub(crate) fn trace_of(&self, stored: &StoredFailure) -> Trace {
        let trace = load_trace(&self.trace_path(&stored.id())).ok().map(|stored| stored.failure);
        trace
            .filter(|failure| failure.schedule == stored.schedule)
            .map_or_else(Trace::default, |failure| failure.trace)
    }

    fn trace_path(&self, test: &TestId) -> PathBuf {
        self.directory.with_file_name("traces").join(test_path(test)).with_added_extension("json")
    }

    /// Every stored failure, in the order of their paths; damaged ones, and directories that cannot be read, as errors.
    pub(crate) fn all(&self) -> Vec<(PathBuf, Result<StoredFailure, Error>)> {
        let (paths, unreadable) = self.paths();
        let stored = paths.into_iter().map(|path| (path.clone(), load(&path)));
        let unreadable = unreadable.into_iter().map(|(path, error)| (path, Err(error)));
        unreadable.chain(stored).collect()
    }

    /// The files, and the directories that cannot be read.
    fn paths(&self) -> (Vec<PathBuf>, Vec<(PathBuf, Error)>) {
        let (mut paths, mut unreadable) = (Vec::new(), Vec::new());
        collect(&self.directory, &mut paths, &mut unreadable);
        paths.sort();
        (paths, unreadable)
    }

    /// The one stored failure that a name means: `PACKAGE::TARGET::TEST`, a test's name, its end or a part of it.
    pub(crate) fn find(&self, name: &str, packages: &[String]) -> Result<StoredFailure, Error> {
        let all = self.all();
        let label = |path: &Path| path_label(path.strip_prefix(&self.directory).unwrap_or(path));
        let selected = |id: &str| {
            packages.is_empty() || packages.iter().any(|package| id.starts_with(&format!("{package}::")))
        };
        let ids: Vec<String> = all
            .iter()
            .map(|(path, stored)| stored.as_ref().map_or_else(|_| label(path), |s| s.id().to_string()))
            .collect();
        let candidates: Vec<&str> = ids.iter().map(String::as_str).filter(|id| selected(id)).collect();
        let found = resolve(name, &candidates);
        if found.is_empty()
            && let Some((_, error)) = self.paths().1.into_iter().next()
        {
            return Err(error);
        }
        match found.as_slice() {
            [] => Err(Error::NotStored(format!(
                "no stored failure matches `{name}` in {}; run `cargo icb test {name}` first, or see `cargo icb list --failures`",
                self.directory.display()
            ))),
            [one] => {
                let position = ids.iter().position(|id| id == one).unwrap_or_default();
                let mut all = all;
                all.swap_remove(position).1
            }
            [one, others @ ..] if others.iter().all(|other| other == one) => {
                let of_test = ids.iter().zip(&all).filter(|(id, _)| id == one);
                let paths: Vec<String> = of_test.map(|(_, (path, _))| path.display().to_string()).collect();
                Err(Error::NotStored(format!(
                    "several files say that they store the failure of {one}: {}; name the one that is meant, or delete the others",
                    paths.join(", ")
                )))
            }
            several => Err(Error::NotStored(format!(
                "`{name}` could be any of the stored failures {}; give the whole name",
                several.join(", ")
            ))),
        }
    }
}

/// Which full names `PACKAGE::TARGET::TEST` a name means, trying from exact to vague.
pub(crate) fn resolve<'a>(name: &str, ids: &[&'a str]) -> Vec<&'a str> {
    let suffix = format!("::{name}");
    let test = |id: &'a str| id.splitn(3, "::").nth(2).unwrap_or(id);
    let ways: [&dyn Fn(&'a str) -> bool; 4] =
        [&|id| id == name, &|id| test(id) == name, &|id| id.ends_with(&suffix), &|id| id.contains(name)];
    ways.iter()
        .map(|way| ids.iter().copied().filter(|id| way(id)).collect::<Vec<_>>())
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// What is to be said of a directory of failures that cannot be read.
fn no_directory(path: &Path, error: &std::io::Error) -> Error {
    Error::NotStored(format!(
        "cannot read the stored failures in {}: {error}; make it a directory that can be read, or name another one with --target-dir",
        path.display()
    ))
}

/// Writes a file whole or not at all.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>, unreadable: &mut Vec<(PathBuf, Error)>) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => return unreadable.push((directory.to_owned(), no_directory(directory, &error))),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, paths, unreadable);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
}

/// A relative path for a test's files, valid on every file system: `package/target/module.test`.
pub(crate) fn test_path(test: &TestId) -> PathBuf {
    [&test.target.package, &test.target.label, &test.name].iter().map(|part| file_name(part)).collect()
}

/// Longest name of a file or directory that is made from a name; file systems allow 255 bytes, and something is put behind it.
const MAX_FILE_NAME: usize = 200;

/// What is too long is cut, and told from others by a checksum of all of it.
fn file_name(name: &str) -> String {
    let mut safe = String::new();
    for byte in name.replace("::", ".").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => safe.push(char::from(byte)),
            _ => safe += &format!("%{byte:02x}"),
        }
    }
    if safe.len() > MAX_FILE_NAME {
        safe.truncate(MAX_FILE_NAME - 17);
        safe += &format!("-{}", checksum(name.as_bytes()));
    }
    safe
}

/// The test that a path stands for, for messages about files that cannot be read.
fn path_label(path: &Path) -> String {
    let parts: Vec<String> = path
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    match parts.as_slice() {
        [package, target, test] => {
            format!("{}::{}::{}", package, target.replace("%3a", ":"), test.replace('.', "::"))
        }
        _ => parts.join("::"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::table::costs;
    use icb_core::trace::{Action, ObjectId, Operation, Ordering};

    fn id(package: &str, label: &str, name: &str) -> TestId {
        TestId { target: TargetId { package: package.into(), label: label.into() }, name: name.into() }
    }

    fn stored(test: &TestId) -> StoredFailure {
        let mut failure = Failure::new(FailureKind::Deadlock, "T0 waits");
        failure.schedule = "icb1:0*3!1*2,0".parse().unwrap();
        StoredFailure::new(test, 0, &failure, &Search::default(), &BuildArgs::default())
    }

    #[test]
    fn failures_round_trip() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let test = id("icb-tests", "bin:tool", "queue::loses<u8>");
        let path = store.save(&stored(&test)).unwrap();
        assert!(path.ends_with("failures/icb-tests/bin%3atool/queue.loses%3cu8%3e.json"), "{path:?}");
        assert_eq!(store.find("queue::loses<u8>", &[]).unwrap(), stored(&test));
        store.save(&stored(&test)).unwrap();
        assert_eq!(store.all().len(), 1);
        assert!(fs::read_to_string(path).unwrap().contains(r#""schedule": "icb1:0*3!1*2,0""#));
    }

    #[test]
    fn what_a_failure_costs_its_trace_says() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let test = id("p", "t", "late");
        let mut failure = Failure::new(FailureKind::Panic, "x");
        failure.schedule = "icb1:0?1!!1".parse().unwrap();
        let stored = StoredFailure::new(&test, 0, &failure, &Search::default(), &BuildArgs::default());
        let said = || costs(&stored.schedule, &store.trace_of(&stored));
        assert_eq!(said(), "1 preemption and 1 other cost");
        let step = serde_json::json!({
            "index": 0, "thread": 0, "switch": "Stay", "early": false, "branches": [1],
            "operation": serde_json::to_value(Operation::new(Action::Load(Ordering::Relaxed), ObjectId::new(0))).unwrap(),
            "note": icb_core::trace::STALE,
        });
        failure.trace.steps.push(serde_json::from_value(step).unwrap());
        store.save_trace(&test, &failure).unwrap();
        assert_eq!(said(), "1 preemption and 1 stale value");
        failure.schedule = "icb1:0?1!".parse().unwrap();
        store.save_trace(&test, &failure).unwrap();
        assert_eq!(said(), "1 preemption and 1 other cost", "the trace is that of another failure");
    }

    #[test]
    fn names_that_are_too_long_for_a_file_are_kept_apart() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let long = "case_".repeat(200);
        for test in [id("p", "t", &format!("{long}1")), id("p", "t", &format!("{long}2"))] {
            let path = store.save(&stored(&test)).unwrap();
            assert!(path.file_name().unwrap().len() <= MAX_FILE_NAME + ".json".len(), "{path:?}");
            assert_eq!(store.find(&test.name, &[]).unwrap(), stored(&test));
        }
        assert_eq!(store.all().len(), 2);
    }

    #[test]
    fn names_resolve_from_exact_to_vague() {
        let ids = ["a::t::x", "a::t::m::x", "b::t::x2", "b::lib::y"];
        for (name, expected) in [
            ("a::t::x", &["a::t::x"][..]),
            ("x", &["a::t::x"]),
            ("m::x", &["a::t::m::x"]),
            ("x2", &["b::t::x2"]),
            ("lib::y", &["b::lib::y"]),
            ("t::", &["a::t::x", "a::t::m::x", "b::t::x2"]),
            ("z", &[]),
        ] {
            assert_eq!(resolve(name, &ids), expected, "{name}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_the_directory_is_told_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        fs::write(directory.path().join("failures"), "mine").unwrap();
        let test = id("p", "t", "x");
        let error = store.find("x", &[]).unwrap_err();
        assert!(error.to_string().contains("cannot read the stored failures in "), "{error}");
        assert!(matches!(store.all().as_slice(), [(_, Err(_))]));
        let error = store.save(&stored(&test)).unwrap_err();
        assert!(error.to_string().contains("name another directory with --target-dir"), "{error}");
        assert_eq!(fs::read_to_string(directory.path().join("failures")).unwrap(), "mine");
    }

    #[test]
    fn damage_is_named_and_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path());
        let test = id("p", "t", "m::x");
        let path = store.save(&stored(&test)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for (damage, named) in [
            (text.replace("icb1:0*3!1", "icb1:0*3;1"), "damaged at character 8"),
            (text.replace("\"format\": 1", "\"format\": 9"), "format 9"),
            (text[..text.len() / 2].to_owned(), "EOF"),
            (String::new(), "EOF"),
        ] {
            fs::write(&path, &damage).unwrap();
            let error = store.find("x", &[]).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
            assert_eq!(error.exit(), crate::exit_code::Exit::Stored);
            assert!(store.save(&stored(&test)).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), damage);
        }
    }
}
