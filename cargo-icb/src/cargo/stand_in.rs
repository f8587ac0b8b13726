//! Stand-ins: libraries of icb that the wrapper compiles in the place of a package of the user's graph, so that tests which
//! were written for another tool run under the explorer as they are. Cargo goes on building the package's own dependencies,
//! and its lock file stays what it is.
//!
//! Everything else is compiled as it is: what such tests want explored, they name through the package.

use super::facade::Facade;
use super::metadata::Workspace;
use super::wrapper;
use crate::cli::BuildArgs;
use crate::exit_code::Error;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The package and the source that is compiled in its place, separated by `=`.
pub(super) const SOURCE: &str = "ICB_SWAP_STAND_IN";

/// The edition that stand-ins are written in.
const EDITION: &str = "2024";

/// A package that can be stood in for.
#[derive(Debug)]
pub(crate) struct StandIn {
    package: &'static str,
    /// Among the packed sources.
    source: &'static str,
    /// The configuration under which crates use the package.
    cfg: String,
}

impl StandIn {
    /// What the command line asks for.
    pub(crate) fn asked_for(options: &BuildArgs) -> Option<StandIn> {
        let cfg = options.loom.clone()?;
        Some(StandIn { package: "loom", source: "icb-std/loom/src/lib.rs", cfg })
    }

    /// Fails if nothing would be replaced.
    pub(crate) fn check(&self, workspace: &Workspace, options: &BuildArgs) -> Result<(), Error> {
        let graph = workspace.graph(options)?;
        if graph.packages.iter().any(|package| package.name.as_str() == self.package) {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "no package of the workspace {} depends on `{}`, so there is nothing to run with --{1}; leave it out",
            workspace.root.display(),
            self.package
        )))
    }

    /// Where its build goes, below `icb`.
    pub(crate) fn directory(&self) -> &'static str {
        self.package
    }

    /// Compiler flags.
    pub(crate) fn flags(&self, facade: &Facade, accesses: bool) -> Vec<String> {
        let key = wrapper::key("icb_stand_in", &(&facade.key, self.package, accesses));
        let cfg = ["--cfg", &self.cfg, "--check-cfg", &format!("cfg({})", self.cfg)].map(str::to_owned);
        key.into_iter().chain(cfg).collect()
    }

    /// What the wrapper must know.
    pub(crate) fn variable(&self, facade: &Facade) -> (&'static str, OsString) {
        let mut value = OsString::from(format!("{}=", self.package));
        value.push(facade.source.join(self.source));
        (SOURCE, value)
    }
}

/// What the wrapper is told.
pub(super) struct Called {
    package: String,
    source: PathBuf,
}

impl Called {
    /// What compiles in the place of a package.
    pub(super) fn source_of(&self, package: &str) -> Option<&Path> {
        (self.package == package).then_some(&self.source)
    }
}

/// The stand-in of this build, if it has one.
pub(super) fn called_for() -> Option<Called> {
    let value = std::env::var(SOURCE).ok()?;
    let (package, source) = value.split_once('=')?;
    Some(Called { package: package.to_owned(), source: source.into() })
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
    let mut named = OsString::from("icb_std=");
    named.push(library);
    let flags = ["--cap-lints", "allow", "--cfg", "icb", "--extern"].map(OsString::from);
    rewritten.extend(flags.into_iter().chain([named]));
    rewritten
}

#[cfg(test)]
mod tests {
    use super::*;

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
