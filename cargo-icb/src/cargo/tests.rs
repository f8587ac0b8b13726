//! Tests and their names: which there are in an executable, and which are meant.

use super::build::{Build, Executable};
use crate::cli::FilterArgs;
use crate::exit_code::Error;
use cargo_metadata::TargetKind;
use std::collections::HashSet;
use std::fmt;

/// A target of a package.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TargetId {
    /// Name of the package.
    pub(crate) package: String,
    /// `lib`, the name of an integration test, `bin:NAME`, `example:NAME` or `bench:NAME`.
    pub(crate) label: String,
}

impl TargetId {
    /// Names a target.
    pub(crate) fn new(package: &str, target: &cargo_metadata::Target) -> TargetId {
        let name = &target.name;
        let label = match target.kind.first() {
            Some(TargetKind::Bin) => format!("bin:{name}"),
            Some(TargetKind::Example) => format!("example:{name}"),
            Some(TargetKind::Bench) => format!("bench:{name}"),
            Some(TargetKind::Test) if name == "lib" => "test:lib".to_owned(),
            Some(TargetKind::Test) => name.clone(),
            _ => "lib".to_owned(),
        };
        TargetId { package: package.to_owned(), label }
    }

    /// Where it stands among others: packages by name, in each the library, programs, tests, examples, benches.
    pub(crate) fn rank(&self) -> (&str, usize, &str) {
        let kinds = ["bin", "test", "example", "bench"];
        let (kind, name) = match self.label.as_str() {
            "lib" => return (&self.package, 0, ""),
            label => label.split_once(':').unwrap_or(("test", label)),
        };
        (&self.package, 1 + kinds.iter().position(|k| *k == kind).unwrap_or(kinds.len()), name)
    }

    /// The arguments of cargo that select this target alone.
    pub(crate) fn to_cargo(&self) -> (&'static str, Option<String>) {
        match self.label.split_once(':') {
            None if self.label == "lib" => ("lib", None),
            None => ("test", Some(self.label.clone())),
            Some(("bin", name)) => ("bin", Some(name.to_owned())),
            Some(("example", name)) => ("example", Some(name.to_owned())),
            Some(("bench", name)) => ("bench", Some(name.to_owned())),
            Some((_, name)) => ("test", Some(name.to_owned())),
        }
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.package, self.label)
    }
}

/// A test.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TestId {
    /// Its target.
    pub(crate) target: TargetId,
    /// Its name, as libtest prints it.
    pub(crate) name: String,
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.target, self.name)
    }
}

/// A test that can be run.
#[derive(Clone)]
pub(crate) struct Test<'a> {
    /// Its name.
    pub(crate) id: TestId,
    /// Its executable.
    pub(crate) executable: &'a Executable,
    /// Whether it is marked `#[ignore]`.
    pub(crate) ignored: bool,
}

/// The tests of a build that are meant, in order.
pub(crate) fn select<'a>(
    build: &'a Build,
    filters: &[String],
    options: &FilterArgs,
) -> Result<Vec<Test<'a>>, Error> {
    let mut tests = Vec::new();
    let mut count = 0;
    for executable in &build.executables {
        let ignored: HashSet<String> = list(executable, &["--ignored"])?.into_iter().collect();
        for name in list(executable, &[])? {
            count += 1;
            let ignored = ignored.contains(&name);
            let id = TestId { target: executable.target.clone(), name };
            if is_meant(&id, ignored, filters, options) {
                tests.push(Test { id, executable, ignored });
            }
        }
    }
    if !tests.is_empty() {
        return Ok(tests);
    }
    Err(Error::NoTests(if count == 0 {
        let skipped: Vec<String> = build.skipped.iter().map(ToString::to_string).collect();
        let skipped = match skipped.as_slice() {
            [] => String::new(),
            _ => format!(" ({}: a test harness of its own)", skipped.join(", ")),
        };
        format!("there are no tests in what cargo has built{skipped}; select another package or target")
    } else if filters.is_empty() {
        format!("none of the {count} tests is selected; see --ignored, --include-ignored and --skip")
    } else {
        format!("no test matches {} among {count}; `cargo icb list` shows them", quoted(filters))
    }))
}

/// Filters are those of libtest, or names as they are told everywhere, with the package and the target.
fn is_meant(id: &TestId, ignored: bool, filters: &[String], options: &FilterArgs) -> bool {
    let name = id.name.as_str();
    let before = format!("{}::", id.target);
    let matches = |filter: &String| {
        let as_told = filter.strip_prefix(&before);
        if options.exact {
            name == filter || as_told == Some(name)
        } else {
            name.contains(filter.as_str()) || as_told.is_some_and(|rest| name.starts_with(rest))
        }
    };
    let by_name = (filters.is_empty() || filters.iter().any(matches)) && !options.skip.iter().any(matches);
    let by_mark = if options.ignored { ignored } else { !ignored || options.include_ignored };
    by_name && by_mark
}

/// Whether filters mean a test by its name, however it is marked.
pub(crate) fn is_named(id: &TestId, filters: &[String], options: &FilterArgs) -> bool {
    is_meant(id, false, filters, &FilterArgs { ignored: false, ..options.clone() })
}

/// The filters as a message names them.
pub(crate) fn quoted(filters: &[String]) -> String {
    let quoted: Vec<String> = filters.iter().map(|filter| format!("`{filter}`")).collect();
    quoted.join(" or ")
}

/// Asks an executable for its tests.
pub(crate) fn list(executable: &Executable, arguments: &[&str]) -> Result<Vec<String>, Error> {
    let doing = || format!("cannot list the tests of {} ({})", executable.target, executable.path.display());
    let output = executable
        .command()
        .args(["--list", "--format", "terse"])
        .args(arguments)
        .current_dir(&executable.directory)
        .envs(executable.environment.iter().map(|(name, value)| (name, value)))
        .output()
        .map_err(|error| Error::internal(doing(), error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::internal(doing(), format!("{}; it said: {}", output.status, said.trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn filters_work_as_in_libtest() {
        let plain = FilterArgs::default();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let target = TargetId { package: "p".into(), label: "lib".into() };
        let id = |name: &str| TestId { target: target.clone(), name: name.to_owned() };
        assert!(is_meant(&id("a::queue"), false, &[], &plain));
        assert!(is_meant(&id("a::queue"), false, &words(&["x", "que"]), &plain));
        assert!(!is_meant(&id("a::queue"), false, &words(&["x"]), &plain));
        assert!(!is_meant(&id("a::queue"), true, &[], &plain));
        let exact = FilterArgs { exact: true, ..plain.clone() };
        assert!(!is_meant(&id("a::queue"), false, &words(&["queue"]), &exact));
        assert!(is_meant(&id("a::queue"), false, &words(&["a::queue"]), &exact));
        // As they are told.
        for (filter, part, whole) in [
            ("p::lib::a::queue", true, true),
            ("p::lib::a::", true, false),
            ("p::lib::queue", false, false),
            ("p::a::queue", false, false),
            ("q::lib::a::queue", false, false),
            ("p", false, false),
        ] {
            assert_eq!(is_meant(&id("a::queue"), false, &words(&[filter]), &plain), part, "{filter}");
            assert_eq!(is_meant(&id("a::queue"), false, &words(&[filter]), &exact), whole, "{filter}");
        }
        let ignored = FilterArgs { ignored: true, ..plain.clone() };
        assert!(is_meant(&id("q"), true, &[], &ignored) && !is_meant(&id("q"), false, &[], &ignored));
        let both = FilterArgs { include_ignored: true, skip: words(&["slow"]), ..plain };
        assert!(is_meant(&id("q"), true, &[], &both) && is_meant(&id("q"), false, &[], &both));
        assert!(!is_meant(&id("a::slow"), false, &[], &both));
    }

    #[test]
    fn targets_stand_in_an_order_of_their_own() {
        let target = |package: &str, label: &str| TargetId { package: package.into(), label: label.into() };
        let mut targets = [
            target("b", "lib"),
            target("a", "zeta"),
            target("a", "bench:a"),
            target("a", "alpha"),
            target("a", "example:e"),
            target("a", "bin:z"),
            target("a", "lib"),
        ];
        targets.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let labels: Vec<_> = targets.iter().map(|target| target.label.as_str()).collect();
        assert_eq!(labels, ["lib", "bin:z", "alpha", "zeta", "example:e", "bench:a", "lib"]);
    }
}
