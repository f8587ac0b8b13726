//! Stand-ins: libraries of icb that the wrapper compiles in the place of a package of the user's graph, so that tests which
//! were written for another tool run under the explorer as they are. Cargo goes on building the package's own dependencies,
//! and its lock file stays what it is.
//!
//! Everything else is compiled as it is: what such tests want explored, they name through the package.

use super::config::Config;
use super::facade::Facade;
use super::metadata::Workspace;
use super::wrapper;
use crate::cli::BuildArgs;
use crate::exit_code::Error;
use cargo_metadata::Metadata;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The packages and the sources that are compiled in their places, a line each, separated by `=`.
pub(super) const SOURCES: &str = "ICB_SWAP_STAND_INS";

/// The edition that stand-ins are written in.
const EDITION: &str = "2024";

/// A package that can be stood in for.
#[derive(Debug)]
struct Kind {
    /// Its name, which is that of the option and the usual configuration as well.
    package: &'static str,
    /// What is compiled in the place of which package, among the packed sources; first of all its own.
    sources: &'static [(&'static str, &'static str)],
    /// What the command line says of it: the configuration under which crates use it.
    cfg: fn(&BuildArgs) -> Option<&String>,
}

const KINDS: [Kind; 2] = [
    Kind {
        package: "loom",
        sources: &[("loom", "icb-std/loom/src/lib.rs")],
        cfg: |options| options.loom.as_ref(),
    },
    Kind {
        package: "shuttle",
        sources: &[
            ("shuttle", "icb-std/shuttle/src/lib.rs"),
            // What it is made of, of which its wrappers of other crates name something.
            ("shuttle-engine", ENGINE),
            ("shuttle-schedulers", ENGINE),
            ("shuttle-std", ENGINE),
        ],
        cfg: |options| options.shuttle.as_ref(),
    },
];

const ENGINE: &str = "icb-std/shuttle/src/engine.rs";

/// What is stood in for in a build: at least one package, each with its configuration.
#[derive(Debug)]
pub(crate) struct StandIns(Vec<(&'static Kind, String)>);

impl StandIns {
    /// What the command line asks for.
    pub(crate) fn asked_for(options: &BuildArgs) -> Option<StandIns> {
        let asked = KINDS.iter().filter_map(|kind| Some((kind, (kind.cfg)(options)?.clone())));
        Some(StandIns(asked.collect())).filter(|asked| !asked.0.is_empty())
    }

    /// Fails if nothing would be replaced.
    pub(crate) fn check(&self, workspace: &Workspace, options: &BuildArgs) -> Result<(), Error> {
        let graph = workspace.graph(options)?;
        for (Kind { package, .. }, _) in &self.0 {
            if !has(&graph, package) {
                return Err(Error::Usage(format!(
                    "no package of the workspace {} depends on `{package}`, so there is nothing to run with --{package}; leave it out",
                    workspace.root.display(),
                )));
            }
        }
        Ok(())
    }

    /// Where its build goes, below `icb`.
    pub(crate) fn directory(&self) -> String {
        self.packages().join("-")
    }

    fn packages(&self) -> Vec<&'static str> {
        self.0.iter().map(|(kind, _)| kind.package).collect()
    }

    /// Compiler flags.
    pub(crate) fn flags(&self, facade: &Facade, accesses: bool) -> Vec<String> {
        let key = wrapper::key("icb_stand_in", &(facade.key(), self.packages(), accesses));
        let cfgs = self.0.iter().flat_map(|(_, cfg)| {
            ["--cfg".to_owned(), cfg.clone(), "--check-cfg".to_owned(), format!("cfg({cfg})")]
        });
        key.into_iter().chain(cfgs).collect()
    }

    /// What the wrapper must know.
    pub(crate) fn variable(&self, facade: &Facade) -> (&'static str, OsString) {
        let lines = self.0.iter().flat_map(|(kind, _)| kind.sources).map(|(package, source)| {
            let mut line = OsString::from(format!("{package}="));
            line.push(facade.source.join(source));
            line
        });
        (SOURCES, lines.collect::<Vec<_>>().join(OsStr::new("\n")))
    }
}

fn has(graph: &Metadata, package: &str) -> bool {
    graph.packages.iter().any(|other| other.name.as_str() == package)
}

/// A sentence for each package that could be stood in for, where the user's compiler flags or features say that the tests
/// are written for it, and the command line does not.
pub(crate) fn hints(workspace: &Workspace, options: &BuildArgs, config: &Config) -> Vec<String> {
    let cfgs = config.users_cfgs();
    let mut hints = Vec::new();
    for Kind { package, cfg, .. } in &KINDS {
        if cfg(options).is_some() {
            continue;
        }
        let is_named = |name: &str| name == *package || name.ends_with(&format!("_{package}"));
        let features = options.features.iter().flat_map(|list| list.split([',', ' ']));
        let mut features = features.map(|name| name.rsplit('/').next().unwrap_or(name));
        let mut members = workspace.packages.iter();
        let all = options.all_features && members.any(|member| member.features.contains_key(*package));
        let (said, option) = match cfgs.iter().find(|name| is_named(name)) {
            Some(name) if name == *package => (format!("--cfg {name}"), format!("--{package}")),
            Some(name) => (format!("--cfg {name}"), format!("--{package}={name}")),
            None if all || features.any(|name| name == *package) => {
                (format!("the feature `{package}`"), format!("--{package}"))
            }
            None => continue,
        };
        if workspace.graph(options).is_ok_and(|graph| has(&graph, package)) {
            hints.push(format!(
                "{said} is on, but `{package}` runs its tests itself, and icb sees nothing of them; with {option} icb is compiled in its place"
            ));
        }
    }
    hints
}

/// That no test is there, with what lets those appear that are written for another tool.
pub(crate) fn no_tests(error: Error, workspace: &Workspace, options: &BuildArgs) -> Error {
    let Error::NoTests(said) = error else { return error };
    let others = KINDS.iter().filter(|kind| (kind.cfg)(options).is_none());
    let named = workspace.packages.iter().flat_map(|member| &member.dependencies);
    let used = others
        .map(|kind| kind.package)
        .filter(|package| named.clone().any(|dependency| dependency.name == *package));
    let hints =
        used.map(|package| format!("; tests that were written for {package} are run with --{package}"));
    Error::NoTests(said + &hints.collect::<String>())
}

/// What the wrapper is told.
pub(super) struct Called(Vec<(String, PathBuf)>);

impl Called {
    /// What compiles in the place of a package.
    pub(super) fn source_of(&self, package: &str) -> Option<&Path> {
        self.0.iter().find(|(name, _)| name == package).map(|(_, source)| &**source)
    }
}

/// The stand-ins of this build, if it has any.
pub(super) fn called_for() -> Option<Called> {
    let value = std::env::var(SOURCES).ok()?;
    let lines = value.lines().filter_map(|line| line.split_once('='));
    Some(Called(lines.map(|(package, source)| (package.to_owned(), source.into())).collect()))
}

/// The compiler's arguments for a library, with another source, which names the mirrored library.
pub(super) fn rewrite(arguments: &[OsString], source: &Path, library: &Path) -> Vec<OsString> {
    let is_value = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| arguments[before].to_str());
        before.is_some_and(|before| before.starts_with('-') && !before.contains('='))
    };
    let mut rewritten: Vec<OsString> = Vec::with_capacity(arguments.len() + 3);
    for (index, argument) in arguments.iter().enumerate() {
        let text = argument.to_str().unwrap_or_default();
        if text.starts_with("--edition=") {
            rewritten.push(format!("--edition={EDITION}").into());
        } else if Path::new(argument).extension() == Some(OsStr::new("rs")) && !is_value(index) {
            rewritten.push(source.into());
        } else {
            rewritten.push(argument.clone());
        }
    }
    rewritten.extend(["--cap-lints", "allow", "--cfg", "icb"].map(OsString::from));
    rewritten.extend(wrapper::externs("icb_std", library));
    rewritten
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_can_be_asked_for() {
        let mut options = BuildArgs { shuttle: Some("shuttle".to_owned()), ..BuildArgs::default() };
        let directory = |options: &BuildArgs| StandIns::asked_for(options).map(|asked| asked.directory());
        assert_eq!(directory(&BuildArgs::default()), None);
        assert_eq!(directory(&options).as_deref(), Some("shuttle"));
        options.loom = Some("my_loom".to_owned());
        assert_eq!(directory(&options).as_deref(), Some("loom-shuttle"));
    }

    #[test]
    fn the_source_is_replaced() {
        let arguments = "--crate-name loom --edition=2018 /r/loom-0.7.2/src/lib.rs --crate-type lib -L dependency=/d \
                         --extern generator=/d/libgenerator.rmeta";
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        let rewritten = rewrite(&arguments, Path::new("/s/lib.rs"), Path::new("/d/libicb_std-1.rlib"));
        assert_eq!(
            rewritten.join(OsStr::new(" ")),
            "--crate-name loom --edition=2024 /s/lib.rs --crate-type lib -L dependency=/d \
             --extern generator=/d/libgenerator.rmeta --cap-lints allow --cfg icb --extern icb_std=/d/libicb_std-1.rlib"
        );
    }
}
