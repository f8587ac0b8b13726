//! The mirrored library as crates see it that have never heard of it: built once for each toolchain and target, from
//! the sources packed into this executable, like a sysroot, for all workspaces. It is built apart from the user's graph, so what it is
//! made of stays on the real std even where the user's graph holds the same crates.
//!
//! Two harnesses are built: one brings the quarantining allocator, the other leaves the place to a program's own.

use super::assembly_names;
use super::build::{Made, cargo, run, rustc_version};
use super::cache::Entry;
use super::config::{Config, bootstrap};
use super::metadata::Workspace;
use crate::cli::BuildArgs;
use crate::exit_code::Error;
use crate::report::notice;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packed sources: paths, and what they hold.
static SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Packages of which the facade is made; in a user's graph they are never instrumented.
pub(crate) const OWN: [&str; 3] = ["icb-std", "icb-core", "icb-harness"];

/// Where the built libraries are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Facade {
    /// What it was made of and for.
    key: String,
    /// The library's bytes, in short: the same sources in another directory make another one.
    bytes: String,
    /// Where the packed sources are.
    pub(crate) source: PathBuf,
    /// In place of `std`, `core` and `alloc`.
    pub(crate) library: PathBuf,
    /// In place of `test`.
    pub(crate) harness: PathBuf,
    /// In place of `test`, for programs that have a global allocator of their own.
    pub(crate) plain_harness: PathBuf,
    /// Where everything is that they were compiled with.
    directories: BTreeSet<PathBuf>,
}

impl Facade {
    /// Changes whenever what is compiled against the facade has to be compiled again.
    pub(crate) fn key(&self) -> impl Hash {
        (&self.key, &self.bytes)
    }

    /// Where everything is that the libraries were compiled with, as the wrapper is told.
    pub(crate) fn directories(&self) -> OsString {
        joined(&self.directories).unwrap_or_default()
    }
}

/// The facade for a target, built if need be. It stays as it is as long as the entry is there.
pub(crate) fn prepare(
    workspace: &Workspace,
    options: &BuildArgs,
    triple: &str,
) -> Result<(Facade, Entry), Error> {
    let version = rustc_version()?;
    // One that is no text is none of cargo's.
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let settings = settings(&Config::here()?, std::env::vars_os().filter_map(text));
    let name = format!("facade-{}", digest((env!("CARGO_PKG_VERSION"), &version, triple, &settings)));
    let entry = Entry::open(workspace, options, &name)?;
    let key = key(&version, triple, &settings);
    let record = entry.directory.join("built.json");
    if let Some(built) = built(&record, &key) {
        return Ok((built, entry));
    }
    entry.write()?;
    // Another process may have been quicker.
    if built(&record, &key).is_none() {
        make(&entry.directory, &record, key.clone(), options, triple)?;
        entry.remove_old_ones();
    }
    entry.read()?;
    let built = built(&record, &key).ok_or_else(|| {
        Error::Usage(format!("{} was removed while it was used; start again", entry.directory.display()))
    })?;
    Ok((built, entry))
}

/// The facade that is there, if it is what is asked for.
fn built(record: &Path, key: &str) -> Option<Facade> {
    let built: Facade = serde_json::from_str(&fs::read_to_string(record).ok()?).ok()?;
    let is_there =
        [&built.library, &built.harness, &built.plain_harness].into_iter().all(|path| path.exists());
    (built.key == key && is_there).then_some(built)
}

fn make(
    directory: &Path,
    record: &Path,
    key: String,
    options: &BuildArgs,
    triple: &str,
) -> Result<(), Error> {
    let source = directory.join("source");
    unpack(&source)?;
    notice::say(format_args!(
        "    Building the mirrored std, once for this toolchain, in {}",
        directory.display()
    ));
    let mut directories = BTreeSet::new();
    let (library, plain_harness) = build(&source, directory, options, triple, &[], &mut directories)?;
    let (_, harness) =
        build(&source, directory, options, triple, &["--features", "allocator"], &mut directories)?;
    let of_the_target = directory.join("target").join(triple);
    let mut libraries = directories.iter().filter(|libraries| libraries.starts_with(&of_the_target));
    libraries.try_for_each(|libraries| assembly_names::replace(libraries))?;
    joined(&directories)?;
    let bytes = bytes(&library)?;
    let facade = Facade { key, bytes, source, library, harness, plain_harness, directories };
    let text = serde_json::to_string(&facade).map_err(|error| Error::internal("cannot write JSON", error))?;
    write(record, &text)
}

/// Where a build has put the library of this name.
pub(super) fn library(made: &Made, name: &str) -> Result<PathBuf, Error> {
    let artifacts = made.artifacts.iter().filter(|artifact| artifact.target.name == name);
    let mut files = artifacts.flat_map(|artifact| &artifact.filenames);
    // Beside the metadata is the library itself; the copy in the directory above has no hash in its name, and is not what cargo links.
    let metadata = files.find(|file| file.extension() == Some("rmeta"));
    let path = metadata.map(|file| file.with_extension("rlib").into_std_path_buf());
    path.filter(|path| path.exists())
        .ok_or_else(|| Error::Internal(format!("cargo has built no library {name}")))
}

/// Where a build has put libraries and procedural macros: in one directory, or in one for each package.
pub(super) fn directories(made: &Made) -> BTreeSet<PathBuf> {
    let files = made.artifacts.iter().flat_map(|artifact| &artifact.filenames);
    // The copy of a library in the directory above them all has no metadata beside it.
    let is_sought = |extension| ["rmeta", "so", "dylib", "dll"].contains(&extension);
    let files = files.filter(|file| file.extension().is_some_and(is_sought));
    files.filter_map(|file| file.parent()).map(PathBuf::from).collect()
}

/// Directories in one value of a variable.
pub(super) fn joined(directories: &BTreeSet<PathBuf>) -> Result<OsString, Error> {
    std::env::join_paths(directories).map_err(|error| {
        Error::Usage(format!("no directory that holds a library can have such a name ({error}); use another one, see --target-dir and --cache-dir"))
    })
}

/// The bytes of a library, in short.
pub(super) fn bytes(library: &Path) -> Result<String, Error> {
    let bytes = fs::read(library)
        .map_err(|error| Error::internal(format!("cannot read {}", library.display()), error))?;
    Ok(digest(bytes))
}

fn key(version: &str, triple: &str, settings: &str) -> String {
    digest((SOURCES, version, triple, settings, assembly_names::NAMES))
}

fn digest(what: impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// What changes how cargo builds, but for what [`build`] sets itself.
fn settings(config: &Config, variables: impl Iterator<Item = (String, String)>) -> String {
    let is_obeyed = |name: &str| {
        ["CARGO_PROFILE_RELEASE_", "CARGO_TARGET_", "CARGO_BUILD_", "CARGO_HOST_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
            && !["_DIR", "_TMPDIR", "_RUNNER", "_RUSTFLAGS"].iter().any(|suffix| name.ends_with(suffix))
    };
    let mut variables: Vec<String> = variables
        .filter(|(name, _)| is_obeyed(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    variables.sort();
    format!("{}{}", config.of_builds(), variables.join("\n"))
}

/// Lays the sources out as a workspace of their own. Files that are there already keep their time.
fn unpack(directory: &Path) -> Result<(), Error> {
    if SOURCES.is_empty() {
        return Err(Error::Usage(
            "this cargo-icb was built without the sources of icb-std, so it cannot instrument a crate that does not depend on it; install a published version, or from a clone with `cargo install --path cargo-icb`, or let the crate use icb_std".to_owned(),
        ));
    }
    let mut wanted = BTreeSet::new();
    for (name, text) in SOURCES {
        let path = directory.join(name);
        let text = if *name == "Cargo.toml" { manifest(text)? } else { (*text).to_owned() };
        // Cargo strikes from the lock file what this workspace does not need; that is no reason to write it again.
        let keep = *name == "Cargo.lock" && path.exists();
        if !keep && fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            write(&path, &text)?;
        }
        wanted.insert(path);
    }
    remove_others(directory, &wanted);
    Ok(())
}

/// Whether a packed package takes this dependency from the workspace.
fn is_used(dependency: &str) -> bool {
    let line = format!("\n{dependency} = {{ workspace = true");
    SOURCES.iter().any(|(name, text)| name.ends_with("/Cargo.toml") && text.contains(&line))
}

/// The manifest of the repository's workspace, with the members that are packed.
fn manifest(text: &str) -> Result<String, Error> {
    let mut table: toml::Table =
        text.parse().map_err(|error| Error::internal("the packed manifest is damaged", error))?;
    if let Some(workspace) = table.get_mut("workspace").and_then(toml::Value::as_table_mut) {
        workspace.remove("default-members");
        let members =
            ["icb-core", "icb-std", "icb-std/harness"].map(|name| toml::Value::String(name.to_owned()));
        workspace.insert("members".to_owned(), toml::Value::Array(members.into()));
        // Cargo 1.100 and later complain about what no member uses.
        if let Some(dependencies) = workspace.get_mut("dependencies").and_then(toml::Value::as_table_mut) {
            dependencies.retain(|name, _| is_used(name));
        }
    }
    // Profiles of packages that are not packed would be complained about.
    if let Some(profiles) = table.get_mut("profile").and_then(toml::Value::as_table_mut) {
        profiles.retain(|name, _| name == "release");
        // Names of functions, by which backtraces are told from the user's.
        if let Some(release) = profiles.get_mut("release").and_then(toml::Value::as_table_mut) {
            release.insert("debug".to_owned(), toml::Value::String("limited".to_owned()));
        }
    }
    toml::to_string(&table).map_err(|error| Error::internal("cannot write a manifest", error))
}

/// Removes sources that an older version has left: cargo would not see them, but a build script or a module might.
fn remove_others(directory: &Path, wanted: &BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            remove_others(&path, wanted);
        } else if !wanted.contains(&path) {
            // What cannot be removed is not named by any file that is read.
            let _ = fs::remove_file(&path);
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text)).map_err(|error| Error::unwritable(path, error))
}

/// Builds the library and one of the harnesses; says where they are, and adds where what they are made of was `found`.
fn build(
    source: &Path,
    directory: &Path,
    options: &BuildArgs,
    triple: &str,
    features: &[&str],
    found: &mut BTreeSet<PathBuf>,
) -> Result<(PathBuf, PathBuf), Error> {
    let mut command = Command::new(cargo());
    command.args([
        "build",
        "--release",
        "--package",
        "icb-harness",
        "--message-format=json-render-diagnostics",
    ]);
    command.args(features).args(["--target", triple]);
    command.arg("--manifest-path").arg(source.join("Cargo.toml"));
    command.arg("--target-dir").arg(directory.join("target"));
    if options.offline || options.frozen {
        command.arg("--offline");
    }
    // The user's flags and wrappers are for the user's code. An empty wrapper is none, whatever the configuration says.
    for name in ["RUSTFLAGS", "CARGO_BUILD_TARGET_DIR"] {
        command.env_remove(name);
    }
    command.envs(["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"].map(|name| (name, "")));
    // (A cap would keep the compiler from saying which kinds of crates the target has, which cargo asks.)
    let mut flags = vec!["-Awarnings"];
    if ["x86_64-", "aarch64-"].iter().any(|processor| triple.starts_with(processor))
        && triple.contains("-linux-")
    {
        // The harness has the system's clock.
        flags.extend(["--cfg", "icb_system_dates"]);
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let users = std::env::var("RUSTC_BOOTSTRAP").ok();
    command.env("RUSTC_BOOTSTRAP", bootstrap(users.as_deref(), &["icb_std", "icb_harness"]));
    let made = run(command).map_err(|error| match error {
        Error::Build => Error::Facade,
        other => other,
    })?;
    found.extend(directories(&made));
    Ok((library(&made, "icb_std")?, library(&made, "icb_harness")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_sources_are_a_workspace() {
        let directory = tempfile::tempdir().unwrap();
        unpack(directory.path()).unwrap();
        let manifest = fs::read_to_string(directory.path().join("Cargo.toml")).unwrap();
        let table: toml::Table = manifest.parse().unwrap();
        let members = table["workspace"]["members"].as_array().unwrap();
        for member in members {
            let member = directory.path().join(member.as_str().unwrap());
            assert!(member.join("Cargo.toml").exists() && member.join("src/lib.rs").exists(), "{member:?}");
        }
        let dependencies = table["workspace"]["dependencies"].as_table().unwrap();
        assert!(dependencies.contains_key("libc") && !dependencies.contains_key("clap"));
        // A second time nothing is written, and what does not belong there goes.
        let stray = directory.path().join("icb-std/src/stray.rs");
        fs::write(&stray, "").unwrap();
        let lib = directory.path().join("icb-std/src/lib.rs");
        let time = fs::metadata(&lib).unwrap().modified().unwrap();
        unpack(directory.path()).unwrap();
        assert_eq!((fs::metadata(&lib).unwrap().modified().unwrap(), stray.exists()), (time, false));
    }

    #[test]
    fn the_key_follows_the_toolchain() {
        assert_eq!(key("1", "t", ""), key("1", "t", ""));
        assert_ne!(key("1", "t", ""), key("2", "t", ""));
        assert_ne!(key("1", "t", ""), key("1", "u", ""));
        assert_ne!(key("1", "t", ""), key("1", "t", "s"));
    }

    #[test]
    fn a_library_made_elsewhere_is_another_one() {
        let directory = tempfile::tempdir().unwrap();
        let made_with = |text: &str| {
            let library = directory.path().join("library");
            fs::write(&library, text).unwrap();
            let bytes = bytes(&library).unwrap();
            let [source, harness, plain_harness] = [(); 3].map(|()| PathBuf::new());
            Facade {
                key: key("1", "t", ""),
                bytes,
                source,
                library,
                harness,
                plain_harness,
                directories: BTreeSet::new(),
            }
        };
        assert_eq!(digest(made_with("a").key()), digest(made_with("a").key()));
        assert_ne!(digest(made_with("a").key()), digest(made_with("b").key()));
    }
}
