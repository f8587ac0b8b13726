//! Whether a build checks every access to plain memory. What is asked for is done; else it is checked where it can be, and
//! where something may be wrong with it:
//!
//! - Some package that the tests are made of has unsafe code (`words` tells). Without any, all accesses are those of safe
//!   Rust, which cannot race. One such package is enough to check all: what a safe function touches may have come to it
//!   through unsafe code, and generic code is compiled where it is used.
//! - The compiler can report accesses (`probe`).
//! - No package orders what threads do by means that the model does not see: it would be told of races that there are not.

use super::build::Recipe;
use super::facade::OWN;
use super::metadata::{Workspace, names};
use super::packages::{Packages, contains, has_own};
use super::probe;
use super::words::Sought;
use crate::cli::{BuildArgs, TargetArgs};
use crate::exit_code::Error;
use cargo_metadata::{DependencyKind, Package};
use std::collections::BTreeSet;

/// What has been decided for a build.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Decision {
    /// Accesses are checked.
    pub(crate) on: bool,
    /// What people should know of it.
    pub(crate) note: Option<String>,
    /// Packages that the mirrored library is made of, in the graph of packages that name it: they are compiled as they are.
    pub(crate) own: BTreeSet<String>,
}

/// Which packages the model sees.
pub(crate) enum Seen<'a> {
    /// The tests name the mirrored library: packages do that depend on it, and those that are instrumented.
    Opted(&'a BTreeSet<String>),
    /// All but these; if some are listed first, only these of the dependencies.
    Unchanged { only: &'a BTreeSet<String>, except: &'a BTreeSet<String> },
}

impl Seen<'_> {
    fn sees(&self, package: &Package) -> bool {
        let version = package.version.to_string();
        let listed = |list: &BTreeSet<String>| list.iter().any(|spec| names(spec, &package.name, &version));
        match self {
            Seen::Opted(instrumented) => {
                let names_library =
                    |kind| package.dependencies.iter().any(|d| d.name == OWN[0] && d.kind == kind);
                let is_tested = package.source.is_none() && names_library(DependencyKind::Development);
                names_library(DependencyKind::Normal) || is_tested || listed(instrumented)
            }
            Seen::Unchanged { only, except } => {
                let is_member = package.source.is_none();
                !listed(except) && (only.is_empty() || is_member || listed(only))
            }
        }
    }

    /// By what packages that are not seen order what threads do. Beside opted-in tests they are compiled with the pass, which
    /// tells of their atomics.
    fn sought(&self) -> Sought {
        match self {
            Seen::Opted(_) => Sought::HiddenSynchronization,
            Seen::Unchanged { .. } => Sought::Synchronization,
        }
    }

    /// How the user says that a package is to be seen.
    fn remedy(&self, package: &str) -> String {
        match self {
            Seen::Opted(_) => format!("instrument it (--instrument {package})"),
            Seen::Unchanged { .. } => "let it be instrumented (see --only and --except)".to_owned(),
        }
    }
}

/// Decides for the tests of a selection.
pub(crate) fn decide(
    workspace: &Workspace,
    targets: &TargetArgs,
    options: &BuildArgs,
    recipe: &Recipe<'_>,
    seen: &Seen<'_>,
) -> Result<Decision, Error> {
    let opted = matches!(seen, Seen::Opted(_));
    let mut selected = workspace.selected(targets);
    selected.retain(|package| !OWN.contains(&package.name.as_str()));
    let off = Decision::default();
    if options.no_accesses || selected.is_empty() {
        return Ok(off);
    }
    let here = selected.iter().find(|package| contains(package, true, Sought::Unsafe));
    let alone = selected.iter().all(|package| has_own(package));
    if !options.accesses && here.is_none() && alone {
        return Ok(off);
    }
    let sees_all = match seen {
        Seen::Opted(_) => alone,
        Seen::Unchanged { only, except } => only.is_empty() && except.is_empty(),
    };
    // The graph takes cargo a moment; most often it is not needed.
    let needs_graph = opted || !options.accesses && (here.is_none() || !sees_all);
    let graph = needs_graph.then(|| workspace.built(options, &recipe.triple, opted)).transpose();
    let graph = match graph {
        Ok(graph) => graph,
        Err(error) if options.accesses => return Err(error),
        Err(error) => return Ok(Decision { note: Some(not_checked(&error.to_string())), ..off }),
    };
    let packages = graph.as_ref().map(|graph| Packages::new(graph, &selected));
    if !options.accesses && here.is_none() && !packages.as_ref().is_some_and(Packages::have_unsafe_code) {
        return Ok(off);
    }
    if let Some(reason) = probe::failure(workspace, recipe)? {
        if options.accesses {
            return Err(refused(&reason));
        }
        return Ok(Decision { note: Some(not_checked(&reason)), ..off });
    }
    let sought = seen.sought();
    let unseen = packages.as_ref().and_then(|packages| packages.unseen(sought, |package| seen.sees(package)));
    if let Some(unseen) = unseen.filter(|_| !options.accesses) {
        let remedy = seen.remedy(unseen);
        let reason = format!("`{unseen}` may order what threads do, and the model does not see it; {remedy}");
        return Ok(Decision { note: Some(not_checked(&reason)), ..off });
    }
    let own = packages.map(|packages| packages.own()).unwrap_or_default();
    Ok(Decision { on: true, note: None, own })
}

/// That `--accesses` asks for what cannot be.
pub(super) fn refused(reason: &str) -> Error {
    Error::Usage(format!("--accesses is not possible here: {reason}; leave it out"))
}

/// That some package could not be instrumented after all.
pub(crate) fn not_instrumented(package: &str) -> Decision {
    let reason = format!("`{package}` is not instrumented, and the model does not see what it does");
    Decision { note: Some(not_checked(&reason)), ..Decision::default() }
}

fn not_checked(reason: &str) -> String {
    format!("not checked: accesses to plain memory, although there is unsafe code: {reason}")
}
