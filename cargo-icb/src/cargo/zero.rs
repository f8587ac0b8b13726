//! Zero-change builds: which packages of the workspace are tested without knowing of icb, and how cargo is told to
//! compile them, and everything they are made of, against the mirrored library.
//!
//! A package that depends on `icb-std`, itself or through another member, has opted in: its tests say themselves
//! what is a model. Every other package's tests are run under the explorer as they are.

use super::accesses::Seen;
use super::attempt::{self, Note};
use super::facade::{Facade, OWN};
use super::metadata::Workspace;
use super::selection::within;
use super::stand_in::StandIns;
use super::swap::Environment;
use super::wrapper;
use crate::cli::{BuildArgs, TargetArgs};
use crate::exit_code::Error;
use cargo_metadata::{DependencyKind, Package};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which builds a selection of packages takes, and with which selection each.
#[derive(Debug, Default)]
pub(crate) struct Division {
    /// Packages that have opted in.
    pub(crate) opted_in: Option<TargetArgs>,
    /// Packages that know nothing of icb.
    pub(crate) unchanged: Option<TargetArgs>,
}

/// Divides the selected packages.
pub(crate) fn divide(workspace: &Workspace, targets: &TargetArgs) -> Division {
    let selected = workspace.selected(targets);
    let (opted_in, unchanged): (Vec<&Package>, Vec<&Package>) =
        selected.iter().partition(|package| has_opted_in(workspace, package));
    if unchanged.is_empty() {
        return Division { opted_in: Some(targets.clone()), unchanged: None };
    }
    if opted_in.is_empty() {
        return Division { opted_in: None, unchanged: Some(targets.clone()) };
    }
    // A target that is named belongs to one of the two; cargo refuses names that a selection does not have.
    Division { opted_in: within(targets, &opted_in), unchanged: within(targets, &unchanged) }
}

/// Whether a package, or a member that it is built from, depends on the mirrored library.
fn has_opted_in(workspace: &Workspace, package: &Package) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![package];
    while let Some(next) = open.pop() {
        if !seen.insert(&next.id) {
            continue;
        }
        if OWN.contains(&next.name.as_str()) {
            return true;
        }
        let counted = next
            .dependencies
            .iter()
            .filter(|d| next.id == package.id || d.kind != DependencyKind::Development);
        for dependency in counted {
            if dependency.name == OWN[0] {
                return true;
            }
            open.extend(workspace.member(&dependency.name));
        }
    }
    false
}

/// Which packages a zero-change build instruments.
pub(crate) struct Lists {
    /// Of the dependencies, these; empty is all.
    only: BTreeSet<String>,
    /// Not these.
    except: BTreeSet<String>,
}

impl Lists {
    /// What the command line and the manifests ask for. Fails if there is no such package.
    pub(crate) fn new(workspace: &Workspace, options: &BuildArgs) -> Result<Lists, Error> {
        let mut only = workspace.listed("only", &options.only);
        let mut except = workspace.listed("except", &options.except);
        if !(only.is_empty() && except.is_empty()) {
            let graph = workspace.graph(options)?;
            let is_there =
                |name: &&String| graph.packages.iter().any(|package| package.name.as_str() == *name);
            for (list, names) in [("only", &only), ("except", &except)] {
                if let Some(name) = names.iter().find(|name| !is_there(name)) {
                    return Err(Error::Usage(format!(
                        "there is no package `{name}` in the workspace or among its dependencies; see --{list} and \
                         `metadata.icb.{list}` in Cargo.toml"
                    )));
                }
            }
        }
        if !only.is_empty() {
            // What is tested itself is always instrumented, or there would be nothing to explore.
            only.extend(workspace.names().map(str::to_owned));
        }
        except.extend(OWN.map(str::to_owned));
        Ok(Lists { only, except })
    }

    /// The packages that the model sees.
    pub(crate) fn seen(&self) -> Seen<'_> {
        Seen::Unchanged { only: &self.only, except: &self.except }
    }
}

/// How a zero-change build is told apart from others, and what it leaves.
pub(crate) struct Zero {
    facade: Facade,
    lists: Lists,
    /// If the tests were written for other tools, what is compiled in their places; they say themselves what is a model.
    stand_ins: Option<StandIns>,
    /// Where the build goes.
    pub(crate) directory: PathBuf,
}

/// `rustix` calls C functions of the system, as everybody else.
const RUSTIX: [&str; 2] = ["--cfg", "rustix_use_libc"];

impl Zero {
    /// Takes what was asked for together.
    pub(crate) fn new(
        workspace: &Workspace,
        lists: Lists,
        facade: Facade,
        stand_ins: Option<StandIns>,
    ) -> Zero {
        let directory = stand_ins.as_ref().map_or_else(|| "zero".to_owned(), StandIns::directory);
        Zero { facade, lists, directory: workspace.directory.join(directory), stand_ins }
    }

    /// Whether every test is explored as it is.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.stand_ins.is_none()
    }

    /// Compiler flags. Cargo knows nothing of what the wrapper adds; a flag that changes with it makes cargo compile anew
    /// what has to be.
    pub(crate) fn flags(&self, accesses: bool) -> Vec<String> {
        let Lists { only, except } = &self.lists;
        if let Some(stand_ins) = &self.stand_ins {
            return stand_ins.flags(&self.facade, accesses);
        }
        let key = wrapper::key("icb_facade", &(self.facade.key(), only, except, accesses));
        // What calls the system by instructions of its own cannot be modelled. `rustix` offers not to.
        key.into_iter().chain(RUSTIX.map(str::to_owned)).collect()
    }

    /// What the wrapper must know.
    pub(crate) fn environment(&self, accesses: bool) -> Environment {
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(",");
        let Lists { only, except } = &self.lists;
        let only = if only.is_empty() { "*".to_owned() } else { list(only) };
        let path = |path: &Path| path.as_os_str().to_owned();
        let mut environment: Environment = vec![
            (wrapper::LIBRARY, path(&self.facade.library)),
            (wrapper::PACKAGES, only.clone().into()),
            (wrapper::EXCEPT, list(except).into()),
            (wrapper::HARNESSES[0], path(&self.facade.harness)),
            (wrapper::HARNESSES[1], path(&self.facade.plain_harness)),
            (wrapper::DIRECTORIES, self.facade.directories()),
            (wrapper::NOTES, path(&self.notes_directory())),
        ];
        environment.extend(self.stand_ins.as_ref().map(|stand_ins| stand_ins.variable(&self.facade)));
        if accesses {
            environment.push((wrapper::ACCESSES, only.into()));
        }
        environment
    }

    /// What could not be instrumented of a build, which is given as the names of its files.
    pub(crate) fn notes(&self, files: &[&str]) -> Vec<Note> {
        let mut notes = attempt::notes(&self.notes_directory());
        notes.retain(|note| files.iter().any(|file| file.contains(&note.suffix)));
        notes.dedup_by(|a, b| (&a.package, &a.version) == (&b.package, &b.version));
        notes
    }

    fn notes_directory(&self) -> PathBuf {
        self.directory.join("not-instrumented")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A workspace of a package that has opted in, one that is built from it, and one that knows nothing of either.
    fn workspace(directory: &Path) -> Workspace {
        let write = |path: &str, text: &str| {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"a\", \"b\", \"c\"]\n");
        for (name, dependencies) in [
            ("a", "[dev-dependencies]\nicb-std = \"0.1\""),
            ("b", "[dependencies]\nc = { path = \"../c\" }\n[dev-dependencies]\na = { path = \"../a\" }"),
            ("c", "[dev-dependencies]\nserde = \"1\""),
        ] {
            let package = format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n");
            write(&format!("{name}/Cargo.toml"), &(package + dependencies));
            write(&format!("{name}/src/lib.rs"), "");
            write(&format!("{name}/tests/{name}_test.rs"), "");
        }
        let options = BuildArgs { manifest_path: Some(directory.join("Cargo.toml")), ..BuildArgs::default() };
        Workspace::load(&options).unwrap()
    }

    #[test]
    fn packages_are_divided_by_what_they_depend_on() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(directory.path());
        let words = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let divided = |targets: TargetArgs| {
            let Division { opted_in, unchanged } = divide(&workspace, &targets);
            [opted_in, unchanged].map(|part| part.map(|targets| targets.to_cargo().join(" ")))
        };
        let package = |names: &str| TargetArgs { package: words(names), ..TargetArgs::default() };
        let some = |text: &str| Some(text.to_owned());
        // That a test of `b` uses `a` makes nothing of `b` depend on the mirror: `a` itself does so for its tests only.
        let everything = [some("--package a"), some("--package b --package c")];
        assert_eq!(divided(TargetArgs::default()), everything);
        assert_eq!(divided(TargetArgs { workspace: true, ..TargetArgs::default() }), everything);
        assert_eq!(divided(package("a")), [some("--package a"), None]);
        assert_eq!(divided(package("c@0.0.0")), [None, some("--package c@0.0.0")]);
        let excluded = TargetArgs { workspace: true, exclude: words("a"), ..TargetArgs::default() };
        assert_eq!(divided(excluded), [None, some("--workspace --exclude a")]);
        let named = TargetArgs { test: words("c_test"), ..TargetArgs::default() };
        assert_eq!(divided(named), [None, some("--package b --package c --test c_test")]);
    }
}
