//! Instrumenting dependencies whose source stays untouched: they are compiled against the mirrored library.
//!
//! Cargo does not know that an instrumented package needs the mirrored library, so that is built first, by
//! itself, with the flags and into the directory of the build proper, which then finds it done. Nor does cargo
//! see what the wrapper adds; so when the library or the list of packages has changed since the last build, the
//! instrumented packages are cleaned, and cargo builds them and what depends on them again.

use super::build::{Recipe, cargo};
use super::metadata::{Workspace, names};
use super::{facade, wrapper};
use crate::cli::BuildArgs;
use crate::exit_code::Error;
use cargo_metadata::{Metadata, PackageId};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Package of the mirrored library.
const LIBRARY: &str = "icb-std";

/// What the build proper must know: variables for cargo.
pub(crate) type Environment = Vec<(&'static str, OsString)>;

/// Prepares the swap: builds the mirrored library if anything is to be instrumented.
pub(crate) fn prepare(
    workspace: &Workspace,
    options: &BuildArgs,
    recipe: &Recipe<'_>,
) -> Result<Environment, Error> {
    let packages = workspace.instrumented(&options.instrument);
    let stamp = Stamp::new(workspace, recipe);
    if packages.is_empty() {
        return stamp.renew("", &packages, recipe).map(|()| Environment::new());
    }
    let packages = check(packages, &workspace.graph(options)?)?;
    let (library, directories) = build(recipe)?;
    stamp.renew(&facade::bytes(&library)?, &packages, recipe)?;
    let list: Vec<&str> = packages.iter().map(String::as_str).collect();
    let mut environment = recipe.wrapper()?;
    environment.push((wrapper::LIBRARY, library.into_os_string()));
    environment.push((wrapper::DIRECTORIES, facade::joined(&directories)?));
    environment.push((wrapper::PACKAGES, list.join(",").into()));
    Ok(environment)
}

/// Refuses packages that are not there, or that the mirrored library is itself made of.
fn check(packages: BTreeSet<String>, graph: &Metadata) -> Result<BTreeSet<String>, Error> {
    let library: Vec<&PackageId> = graph
        .packages
        .iter()
        .filter(|package| package.name.as_str() == LIBRARY)
        .map(|package| &package.id)
        .collect();
    if library.is_empty() {
        return Err(Error::Usage(format!(
            "to instrument {}, the workspace must depend on {LIBRARY}; add it to the dev-dependencies of the tests",
            quoted(&packages)
        )));
    }
    let below = dependencies(graph, library);
    for spec in &packages {
        let mut found =
            graph.packages.iter().filter(|p| names(spec, p.name.as_str(), &p.version.to_string())).peekable();
        if found.peek().is_none() {
            return Err(Error::Usage(format!(
                "there is no package `{spec}` to instrument among the dependencies of the workspace; see --instrument and `metadata.icb.instrument` in Cargo.toml"
            )));
        }
        if found.any(|package| below.contains(&package.id)) {
            return Err(Error::Usage(format!(
                "`{spec}` cannot be instrumented: {LIBRARY} itself is built from it; take it out of --instrument or `metadata.icb.instrument`"
            )));
        }
    }
    Ok(packages)
}

fn quoted(packages: &BTreeSet<String>) -> String {
    packages.iter().map(|package| format!("`{package}`")).collect::<Vec<_>>().join(", ")
}

/// Packages and everything below them.
fn dependencies<'a>(graph: &'a Metadata, roots: Vec<&'a PackageId>) -> BTreeSet<&'a PackageId> {
    let nodes: HashMap<&PackageId, &[PackageId]> = graph
        .resolve
        .iter()
        .flat_map(|resolve| &resolve.nodes)
        .map(|node| (&node.id, node.dependencies.as_slice()))
        .collect();
    let mut seen = BTreeSet::new();
    let mut open = roots;
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(nodes.get(id).into_iter().flat_map(|dependencies| dependencies.iter()));
        }
    }
    seen
}

/// Builds the mirrored library and says where it is, and where what it is made of is.
fn build(recipe: &Recipe<'_>) -> Result<(PathBuf, BTreeSet<PathBuf>), Error> {
    let mut command = recipe.command("build")?;
    // `--examples` (there are none) makes cargo resolve dev-dependencies, among which the library often is.
    command.args(["--package", LIBRARY, "--lib", "--examples", "--message-format=json-render-diagnostics"]);
    let made = super::build::run(command)?;
    Ok((facade::library(&made, &LIBRARY.replace('-', "_"))?, facade::directories(&made)))
}

/// The file that remembers against what the instrumented packages were compiled.
struct Stamp {
    path: PathBuf,
}

/// What it holds: a key, the packages, and after `!` those that should be cleaned and could not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Stamped {
    key: String,
    packages: BTreeSet<String>,
    /// A target directory can serve several workspaces, and cargo cleans only what the present one depends on.
    left: BTreeSet<String>,
}

impl Stamped {
    fn parse(text: &str) -> Stamped {
        let mut stamped = Stamped::default();
        let mut words = text.split_whitespace();
        stamped.key = words.next().filter(|key| *key != "-").unwrap_or_default().to_owned();
        for word in words {
            match word.strip_prefix('!') {
                Some(left) => stamped.left.insert(left.to_owned()),
                None => stamped.packages.insert(word.to_owned()),
            };
        }
        stamped
    }

    fn to_text(&self) -> String {
        let key = if self.key.is_empty() { "-" } else { &self.key };
        let left = self.left.iter().map(|package| format!("!{package}"));
        let words: Vec<String> =
            std::iter::once(key.to_owned()).chain(self.packages.iter().cloned()).chain(left).collect();
        words.join(" ")
    }

    /// What has to be cleaned to come to this state from another one.
    fn to_clean(&self, old: &Stamped) -> BTreeSet<String> {
        let mut packages = old.left.clone();
        if (&old.key, &old.packages) != (&self.key, &self.packages) {
            packages.extend(old.packages.iter().chain(&self.packages).cloned());
        }
        packages
    }
}

impl Stamp {
    fn new(workspace: &Workspace, recipe: &Recipe<'_>) -> Stamp {
        Stamp { path: workspace.directory.join(format!("swap-{}-{}", recipe.triple, recipe.profile)) }
    }

    /// Cleans what was compiled against anything else, and remembers the new state.
    fn renew(&self, key: &str, packages: &BTreeSet<String>, recipe: &Recipe<'_>) -> Result<(), Error> {
        let old = Stamped::parse(&std::fs::read_to_string(&self.path).unwrap_or_default());
        let mut new = Stamped { key: key.to_owned(), packages: packages.clone(), left: BTreeSet::new() };
        for package in new.to_clean(&old) {
            if !clean(&package, recipe)? {
                new.left.insert(package);
            }
        }
        if old == new {
            return Ok(());
        }
        std::fs::write(&self.path, new.to_text()).map_err(|error| Error::unwritable(&self.path, error))
    }
}

/// Removes what was built of a package. `false`: the workspace does not depend on it, so cargo does not find it.
fn clean(package: &str, recipe: &Recipe<'_>) -> Result<bool, Error> {
    let mut command = Command::new(cargo());
    command.args(["clean", "--quiet", "--package", package]);
    recipe.place(&mut command);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| Error::internal("cannot run cargo clean", error))?;
    Ok(status.success())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn specifications_name_packages() {
        assert!(names("spin", "spin", "0.9.7"));
        assert!(names("spin@0.9.7", "spin", "0.9.7"));
        assert!(!names("spin@0.9.8", "spin", "0.9.7"));
        assert!(!names("spin", "spinning", "0.9.7"));
    }
    #[test]
    fn what_could_not_be_cleaned_is_cleaned_later() {
        let old = Stamped::parse("k1 a b");
        let names = |words: &str| words.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
        let same = Stamped { key: "k1".to_owned(), packages: names("a b"), left: names("") };
        assert_eq!((same.to_clean(&old), same.to_text().as_str()), (names(""), "k1 a b"));
        let other = Stamped { key: "k2".to_owned(), packages: names("b c"), left: names("a") };
        assert_eq!((other.to_clean(&old), other.to_text().as_str()), (names("a b c"), "k2 b c !a"));
        let none = Stamped { left: names("a"), ..Stamped::default() };
        assert_eq!((none.to_clean(&old), none.to_text().as_str()), (names("a b"), "- !a"));
        assert_eq!(Stamped::parse(&none.to_text()), none);
        assert_eq!((same.to_clean(&other), Stamped::default().to_clean(&none)), (names("a b c"), names("a")));
        assert_eq!(Stamped::parse(""), Stamped::default());
    }
}
