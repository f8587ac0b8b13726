//! The user's workspace: its packages, its target directory, what its manifests say about harnesses.

use super::build::cargo;
use super::cache;
use super::manifest;
use super::tests::TargetId;
use crate::cli::{BuildArgs, TargetArgs};
use crate::exit_code::Error;
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package, PackageId, TargetKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;

/// The workspace under test.
pub(crate) struct Workspace {
    /// Its root directory; rustc's relative source paths start here.
    pub(crate) root: PathBuf,
    /// `<target>/icb`: where everything that this tool makes goes.
    pub(crate) directory: PathBuf,
    pub(super) packages: Vec<Package>,
    /// What cargo means where no package is named.
    default_members: Vec<PackageId>,
    /// `workspace.metadata` of the manifest.
    metadata: serde_json::Value,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load(build: &BuildArgs) -> Result<Workspace, Error> {
        let metadata = ask(build, true)?;
        let target = build.target_dir.clone().unwrap_or_else(|| metadata.target_directory.clone().into());
        let target = std::path::absolute(&target).unwrap_or(target);
        Ok(Workspace {
            default_members: default_members(&metadata, build),
            root: metadata.workspace_root.into(),
            directory: target.join("icb"),
            packages: metadata.packages,
            metadata: metadata.workspace_metadata,
        })
    }

    /// The workspace with all its dependencies.
    pub(crate) fn graph(&self, build: &BuildArgs) -> Result<Metadata, Error> {
        ask(build, false)
    }

    /// The packages that a build is made of, on its target alone; `opted`: with what is there under `cfg(icb)`.
    pub(crate) fn built(&self, build: &BuildArgs, triple: &str, opted: bool) -> Result<Metadata, Error> {
        let mut command = MetadataCommand::new();
        let mut options = build.locking_to_cargo();
        options.extend(build.features_to_cargo());
        options.extend(["--filter-platform".to_owned(), triple.to_owned()]);
        command.other_options(options);
        if opted {
            let users = std::env::var("RUSTFLAGS").unwrap_or_default();
            command.env("RUSTFLAGS", format!("{users} --cfg icb"));
        }
        execute(command, build)
    }

    /// Refuses what manifests say of this tool that would have no effect.
    pub(crate) fn check_manifests(&self) -> Result<(), Error> {
        manifest::check(&self.root.join("Cargo.toml"), "workspace", &self.metadata)?;
        let mut packages = self.packages.iter();
        packages.try_for_each(|package| {
            manifest::check(package.manifest_path.as_std_path(), "package", &package.metadata)
        })
    }

    /// The packages to instrument: those given, and those in the manifests' `metadata.icb.instrument`.
    pub(crate) fn instrumented(&self, given: &[String]) -> BTreeSet<String> {
        self.listed("instrument", given)
    }

    /// Names that the command line gives, and those in a list of the manifests' `metadata.icb`.
    pub(crate) fn listed(&self, list: &str, given: &[String]) -> BTreeSet<String> {
        let tables = self.packages.iter().map(|package| &package.metadata).chain([&self.metadata]);
        let listed = tables.filter_map(|table| table.get("icb")?.get(list)?.as_array()).flatten();
        listed.filter_map(|name| name.as_str()).map(str::to_owned).chain(given.iter().cloned()).collect()
    }

    /// The members that a selection means.
    pub(crate) fn selected(&self, targets: &TargetArgs) -> Vec<&Package> {
        let named = |specs: &[String], package: &Package| specs.iter().any(|spec| is_meant(spec, package));
        let is_selected = |package: &&Package| {
            if !targets.package.is_empty() {
                return named(&targets.package, package);
            }
            (targets.workspace || self.is_default(package)) && !named(&targets.exclude, package)
        };
        self.packages.iter().filter(is_selected).collect()
    }

    /// Whether cargo means a member where no package is named.
    pub(super) fn is_default(&self, package: &Package) -> bool {
        self.default_members.contains(&package.id)
    }

    /// A member by its name.
    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name.as_str() == name)
    }

    /// How cargo tells each member from all other packages.
    pub(crate) fn specs(&self) -> BTreeMap<String, String> {
        self.packages.iter().map(|package| (package.name.to_string(), package.id.repr.clone())).collect()
    }

    /// The names of all members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().map(|package| package.name.as_str())
    }

    /// The package of an artifact.
    pub(crate) fn package(&self, id: &PackageId) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == *id)
    }

    /// Whether the workspace has a package of this name.
    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name.as_str() == name)
    }

    /// Whether a member has a target.
    pub(crate) fn has_target(&self, wanted: &TargetId) -> bool {
        let mut members = self.packages.iter().filter(|package| package.name.as_str() == wanted.package);
        members.any(|package| {
            package.targets.iter().any(|target| TargetId::new(&wanted.package, target) == *wanted)
        })
    }

    /// Makes sure that no other `cargo icb` works in the same directory.
    pub(crate) fn lock(&self) -> Result<File, Error> {
        let doing = |error: std::io::Error| {
            Error::Usage(format!(
                "cannot use {} for artifacts and failures: {error}; name another directory with --target-dir, or let this one be written to",
                self.directory.display()
            ))
        };
        fs::create_dir_all(&self.directory).map_err(doing)?;
        let file = File::create(self.directory.join("lock")).map_err(doing)?;
        cache::lock(&file, &self.directory, File::try_lock, File::lock).map_err(doing)?;
        Ok(file)
    }
}

/// Whether a specification names a package, as cargo reads it: `name`, or `name@version`, where the version may be cut short.
pub(super) fn names(spec: &str, package: &str, version: &str) -> bool {
    let Some((name, wanted)) = spec.split_once(['@', ':']) else { return spec == package };
    let rest = version.strip_prefix(wanted);
    name == package && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a specification means a package, as cargo reads it: `name`, `name@1.2`, a pattern, or a URL.
pub(super) fn is_meant(spec: &str, package: &Package) -> bool {
    let (id, spec) = (package.id.repr.trim_start_matches("path+"), spec.trim_start_matches("path+"));
    if spec.contains("://") {
        let rest = id.strip_prefix(spec);
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', '@']));
    }
    let name = package.name.as_str();
    if spec.contains(['@', ':']) {
        return names(spec, name, &package.version.to_string());
    }
    glob::Pattern::new(spec).map_or(spec == name, |pattern| pattern.matches(name))
}

/// The member in whose directory cargo is called; at the root of a workspace, what its manifest says.
fn default_members(metadata: &Metadata, build: &BuildArgs) -> Vec<PackageId> {
    let here = build.manifest_path.clone().or_else(|| {
        let here = std::env::current_dir().ok()?;
        here.ancestors().map(|directory| directory.join("Cargo.toml")).find(|path| path.exists())
    });
    let here = here.and_then(|path| path.canonicalize().ok());
    let is_root = here.as_ref().is_some_and(|path| {
        metadata.workspace_root.join("Cargo.toml").as_std_path().canonicalize().ok().as_ref() == Some(path)
    });
    let is_here = |package: &&Package| {
        here.is_some() && package.manifest_path.as_std_path().canonicalize().ok() == here
    };
    match metadata.packages.iter().find(is_here) {
        Some(package) if !is_root => vec![package.id.clone()],
        _ => metadata.workspace_default_members.iter().cloned().collect(),
    }
}

fn ask(build: &BuildArgs, alone: bool) -> Result<Metadata, Error> {
    let mut command = MetadataCommand::new();
    command.other_options(build.locking_to_cargo());
    if alone {
        command.no_deps();
    } else {
        command.features(CargoOpt::AllFeatures);
    }
    execute(command, build)
}

fn execute(mut command: MetadataCommand, build: &BuildArgs) -> Result<Metadata, Error> {
    if let Some(path) = &build.manifest_path {
        command.manifest_path(path);
    }
    command.exec().map_err(|error| {
        let reason = match error {
            cargo_metadata::Error::CargoMetadata { stderr } if !stderr.trim().is_empty() => {
                return Error::Usage(stderr.trim().trim_start_matches("error: ").to_owned());
            }
            cargo_metadata::Error::CargoMetadata { .. } => "it fails and says nothing".to_owned(),
            cargo_metadata::Error::Io(error) => error.to_string(),
            cargo_metadata::Error::NoJson => "it tells nothing of the workspace".to_owned(),
            other => return Error::internal("cannot understand cargo metadata", other),
        };
        let cargo = cargo();
        Error::Usage(format!(
            "cannot ask {} for the workspace: {reason}; set CARGO to a cargo, or unset it and have `cargo` in the path",
            cargo.display()
        ))
    })
}

/// Whether a target has Rust's own test harness, which can list tests and run one of them.
pub(crate) fn has_harness(package: &Package, target: &cargo_metadata::Target) -> bool {
    let text = fs::read_to_string(&package.manifest_path).unwrap_or_default();
    harness_in(&text, section_of(target), &target.name)
}

fn section_of(target: &cargo_metadata::Target) -> &'static str {
    match target.kind.first() {
        Some(TargetKind::Bin) => "bin",
        Some(TargetKind::Test) => "test",
        Some(TargetKind::Example) => "example",
        Some(TargetKind::Bench) => "bench",
        _ => "lib",
    }
}

fn harness_in(manifest: &str, section: &str, name: &str) -> bool {
    let Ok(manifest) = manifest.parse::<toml::Table>() else { return true };
    let says_no = |table: &toml::Value| table.get("harness").and_then(toml::Value::as_bool) == Some(false);
    match manifest.get(section) {
        Some(toml::Value::Array(tables)) => !tables
            .iter()
            .any(|table| table.get("name").and_then(toml::Value::as_str) == Some(name) && says_no(table)),
        Some(table) => !says_no(table),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_may_be_cut_short() {
        for spec in ["spin", "spin@0.9.8", "spin@0.9", "spin@0", "spin:0.9.8"] {
            assert!(names(spec, "spin", "0.9.8"), "{spec}");
        }
        for spec in ["spi", "spin@0.9.80", "spin@0.9.", "spin@9", "spinning@0.9.8"] {
            assert!(!names(spec, "spin", "0.9.8"), "{spec}");
        }
    }

    #[test]
    fn harnesses_are_read_from_the_manifest() {
        let manifest = "[package]\nname = 'a'\n[lib]\nharness = false\n\
                        [[test]]\nname = 'x'\nharness = false\n[[test]]\nname = 'y'\n";
        assert!(!harness_in(manifest, "lib", "a"));
        assert!(!harness_in(manifest, "test", "x"));
        assert!(harness_in(manifest, "test", "y"));
        assert!(harness_in(manifest, "test", "z"));
        assert!(harness_in(manifest, "bin", "a"));
    }
}
