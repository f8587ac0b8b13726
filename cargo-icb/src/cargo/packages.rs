//! The packages that tests are made of, and what their source says. It knows nothing of what follows from that.

use super::facade::OWN;
use super::words::{Sought, has};
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId, TargetKind};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs;
use std::path::Path;

/// Packages by which procedural macros read and write Rust. They speak of unsafe code, and write none by themselves.
const OF_MACROS: [&str; 4] = ["proc-macro2", "quote", "syn", "unicode-ident"];

/// A package, and whether it is only there to expand macros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
struct Node<'a> {
    id: &'a PackageId,
    in_macro: bool,
}

/// The packages of a graph that the tests of some are made of.
pub(crate) struct Packages<'a> {
    /// Those whose tests they are, first.
    nodes: Vec<(&'a Package, Node<'a>)>,
    roots: usize,
    /// The mirrored library and what it is made of.
    own: Vec<&'a Package>,
}

impl<'a> Packages<'a> {
    /// Those of `selected` and everything below them, but for the mirrored library.
    pub(crate) fn new(graph: &'a Metadata, selected: &[&Package]) -> Packages<'a> {
        let packages: HashMap<&PackageId, &Package> = graph.packages.iter().map(|p| (&p.id, p)).collect();
        let resolved = graph.resolve.iter().flat_map(|resolve| &resolve.nodes);
        let below: HashMap<&PackageId, &cargo_metadata::Node> =
            resolved.map(|node| (&node.id, node)).collect();
        let roots = graph.packages.iter().filter(|package| selected.iter().any(|root| root.id == package.id));
        let mut nodes: Vec<(&Package, Node<'_>)> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut own: Vec<&PackageId> = Vec::new();
        let mut open: VecDeque<(Node<'_>, bool)> =
            roots.map(|package| (Node { id: &package.id, in_macro: false }, true)).collect();
        let root_count = open.len();
        while let Some((node, is_root)) = open.pop_front() {
            let Some(package) = packages.get(node.id).filter(|_| seen.insert(node)) else { continue };
            if OWN.contains(&package.name.as_str()) {
                own.push(node.id);
                continue;
            }
            let in_macro = node.in_macro || is_macro(package);
            nodes.push((package, Node { in_macro, ..node }));
            for dependency in below.get(node.id).into_iter().flat_map(|node| &node.deps) {
                let counts = |kind| match kind {
                    DependencyKind::Normal => true,
                    DependencyKind::Development => is_root,
                    _ => false,
                };
                if dependency.dep_kinds.is_empty() || dependency.dep_kinds.iter().any(|d| counts(d.kind)) {
                    open.push_back((Node { id: &dependency.pkg, in_macro }, false));
                }
            }
        }
        // What the mirrored library is made of.
        let mut below_own = BTreeSet::new();
        while let Some(id) = own.pop() {
            if below_own.insert(id) {
                own.extend(below.get(id).into_iter().flat_map(|node| &node.dependencies));
            }
        }
        let own = below_own.iter().filter_map(|id| packages.get(id).copied()).collect();
        Packages { nodes, roots: root_count, own }
    }

    /// Whether some package has unsafe code, or may have.
    pub(crate) fn have_unsafe_code(&self) -> bool {
        let written = |package: &Package, node: &Node<'_>| {
            !(node.in_macro && OF_MACROS.contains(&package.name.as_str()))
        };
        let mut nodes = self.nodes.iter().enumerate().filter(|(_, (package, node))| written(package, node));
        nodes.any(|(index, (package, _))| contains(package, index < self.roots, Sought::Unsafe))
    }

    /// A package that has what is `sought`, and is not seen.
    pub(crate) fn unseen(&self, sought: Sought, sees: impl Fn(&Package) -> bool) -> Option<&'a str> {
        let is_own = |package: &Package| self.own.iter().any(|own| own.id == package.id);
        let linked = self.nodes.iter().filter(|(package, node)| !node.in_macro && !is_own(package));
        let mut unseen = linked.filter(|(package, _)| !sees(package));
        let (package, _) = unseen.find(|(package, _)| contains(package, false, sought))?;
        Some(package.name.as_str())
    }

    /// The mirrored library and what it is made of, as specifications.
    pub(crate) fn own(&self) -> BTreeSet<String> {
        self.own.iter().map(|package| format!("{}@{}", package.name, package.version)).collect()
    }
}

fn is_macro(package: &Package) -> bool {
    package.targets.iter().any(|target| target.kind.contains(&TargetKind::ProcMacro))
}

/// Whether all that a package depends on, but for its build script, is the mirrored library.
pub(crate) fn has_own(package: &Package) -> bool {
    let mut linked =
        package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Build);
    linked.all(|dependency| OWN.contains(&dependency.name.as_str()))
}

/// Whether the source of a package contains what is sought: all of it, or the library alone. In doubt, it does.
pub(crate) fn contains(package: &Package, all: bool, sought: Sought) -> bool {
    let is_library = |kinds: &[TargetKind]| {
        let others = [TargetKind::Bin, TargetKind::Test, TargetKind::Example, TargetKind::Bench];
        !kinds.iter().any(|kind| others.contains(kind) || *kind == TargetKind::CustomBuild)
    };
    let root = package.manifest_path.parent().map(|root| root.as_std_path());
    if all && root.is_none_or(|root| directory_contains(root, sought)) {
        return true;
    }
    package.targets.iter().any(|target| {
        let path = target.src_path.as_std_path();
        if target.kind.contains(&TargetKind::CustomBuild) {
            // It may write code.
            return sought == Sought::Unsafe && file_contains(path, sought);
        }
        let is_elsewhere = root.is_none_or(|root| !path.starts_with(root));
        (is_library(&target.kind) && !all || all && is_elsewhere)
            && path.parent().is_none_or(|directory| directory_contains(directory, sought))
    })
}

fn file_contains(path: &Path, sought: Sought) -> bool {
    fs::read(path).map_or(true, |bytes| has(&String::from_utf8_lossy(&bytes), sought))
}

/// Whether a Rust file in a directory contains it; not those of other packages, of a build, or hidden ones.
fn directory_contains(directory: &Path, sought: Sought) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return true };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            let is_another = path.join("Cargo.toml").exists() || path.join("CACHEDIR.TAG").exists();
            return !is_another && !name.starts_with('.') && directory_contains(path, sought);
        }
        name.ends_with(".rs") && file_contains(path, sought)
    })
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Workspace;
    use super::*;
    use crate::cli::{BuildArgs, TargetArgs};

    /// Packages, each with what it depends on and its library's source; `test` is a file of its tests.
    const PACKAGES: [(&str, &str, &str); 7] = [
        ("safe", "", "pub fn f() {} // unsafe"),
        ("above", "safe = { path = \"../safe\" }", "pub fn f() {}"),
        ("raw", "", "pub fn f() { unsafe { g() } }"),
        ("user", "raw = { path = \"../raw\" }", "pub fn f() {}"),
        ("locks", "", "use std::sync::Mutex;"),
        ("sleeps", "locks = { path = \"../locks\" }", "use std::thread::sleep;"),
        ("opted", "icb-std = { path = \"../icb-std\" }\nlocks = { path = \"../locks\" }", "unsafe fn f() {}"),
    ];

    fn workspace(directory: &Path) -> Workspace {
        let write = |path: String, text: &str| {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let library = [("icb-std", "below = { path = \"../below\" }", "unsafe fn f() {}"), ("below", "", "")];
        let all = PACKAGES.into_iter().chain(library);
        let members: Vec<String> = all.clone().map(|(name, ..)| format!("{name:?}")).collect();
        let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [{}]\n", members.join(", "));
        write("Cargo.toml".to_owned(), &manifest);
        for (name, dependencies, source) in all {
            let package = format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n");
            write(format!("{name}/Cargo.toml"), &format!("{package}[dependencies]\n{dependencies}\n"));
            write(format!("{name}/src/lib.rs"), source);
        }
        let options = BuildArgs { manifest_path: Some(directory.join("Cargo.toml")), ..BuildArgs::default() };
        Workspace::load(&options).unwrap()
    }

    #[test]
    fn unsafe_code_and_what_is_not_seen_are_found_where_the_tests_are_made_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = workspace(directory.path());
        let manifest_path = Some(directory.path().join("Cargo.toml"));
        let options = BuildArgs { manifest_path, offline: true, ..BuildArgs::default() };
        let graph = workspace.built(&options, "x86_64-unknown-linux-gnu", true).unwrap();
        for (name, has_unsafe_code, unseen, own) in [
            ("safe", false, None, ""),
            ("above", false, None, ""),
            ("raw", true, None, ""),
            ("user", true, None, ""),
            ("locks", false, Some("locks"), ""),
            ("sleeps", false, Some("sleeps"), ""),
            ("opted", true, Some("locks"), "below@0.0.0 icb-std@0.0.0"),
        ] {
            let targets = TargetArgs { package: vec![name.to_owned()], ..TargetArgs::default() };
            let selected = workspace.selected(&targets);
            let packages = Packages::new(&graph, &selected);
            assert_eq!(packages.have_unsafe_code(), has_unsafe_code, "{name}");
            let found = |sought| packages.unseen(sought, |package| package.name.as_str() == "opted");
            assert_eq!(found(Sought::Synchronization), unseen, "{name}");
            // Of locks the pass tells.
            assert_eq!(found(Sought::HiddenSynchronization), (name == "sleeps").then_some(name), "{name}");
            assert_eq!(packages.unseen(Sought::Synchronization, |_| true), None);
            assert_eq!(packages.own().into_iter().collect::<Vec<_>>().join(" "), own, "{name}");
            assert_eq!(contains(selected[0], true, Sought::Unsafe), ["raw", "opted"].contains(&name));
        }
        // Tests count, and other packages inside do not.
        fs::create_dir_all(directory.path().join("safe/tests/inner/src")).unwrap();
        fs::write(directory.path().join("safe/tests/inner/Cargo.toml"), "").unwrap();
        fs::write(directory.path().join("safe/tests/inner/src/lib.rs"), "unsafe {}").unwrap();
        let safe = workspace.member("safe").unwrap();
        assert!(!contains(safe, true, Sought::Unsafe));
        fs::write(directory.path().join("safe/tests/a.rs"), "unsafe {}").unwrap();
        assert!(contains(safe, true, Sought::Unsafe) && !contains(safe, false, Sought::Unsafe));
    }
}
