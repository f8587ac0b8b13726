//! Builds the tests: an own target directory, an own profile, `--cfg icb`, everything else as the user has it.

use super::accesses::{self, Decision, Seen};
use super::attempt::Note;
use super::config::{self, Config, Route, bootstrap};
use super::metadata::{Workspace, has_harness};
use super::stand_in::{self, StandIns};
use super::tests::TargetId;
use super::zero::{Lists, Zero, divide};
use super::{facade, probe, selection, swap, wrapper};
use crate::cli::{BuildArgs, TargetArgs};
use crate::exit_code::Error;
use crate::report::notice;
use cargo_metadata::{Artifact, BuildScript, Message, Package, PackageId};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The profile: optimised, because a search runs a test a million times, with every check of a debug build.
///
/// Line tables everywhere; for the workspace's own packages the names of inlined functions as well, for backtraces.
const PROFILE: [&str; 8] = [
    "profile.icb.inherits=\"release\"",
    "profile.icb.debug-assertions=true",
    "profile.icb.overflow-checks=true",
    "profile.icb.debug=\"limited\"",
    "profile.icb.package.\"*\".debug=\"line-tables-only\"",
    "profile.icb.panic=\"unwind\"",
    // What a release build may do beyond that costs time, and the names of functions. This is what it does by itself: inlining between
    // the parts of a crate.
    "profile.icb.lto=false",
    "profile.icb.strip=\"none\"",
];

/// Our own packages, where they are part of the user's build: as they are measured, and as they are built apart from it. The checks
/// of a debug build are for the user's code.
const OURS: [&str; 4] = [
    "profile.icb.package.icb-core.debug-assertions=false",
    "profile.icb.package.icb-core.overflow-checks=false",
    "profile.icb.package.icb-std.debug-assertions=false",
    "profile.icb.package.icb-std.overflow-checks=false",
];

/// A test executable.
pub(crate) struct Executable {
    /// Of which target.
    pub(crate) target: TargetId,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What it is run by, with arguments; empty if it runs by itself.
    runner: Vec<OsString>,
    /// Where its tests run: the directory of its package.
    pub(crate) directory: PathBuf,
    /// What cargo sets for its tests.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Its package knows nothing of icb: every test is explored as it is.
    pub(crate) unchanged: bool,
    /// It reports accesses to plain memory.
    pub(crate) accesses: bool,
}

impl Executable {
    /// A command that runs it.
    pub(crate) fn command(&self) -> Command {
        let Some((program, arguments)) = self.runner.split_first() else { return Command::new(&self.path) };
        let mut command = Command::new(program);
        command.args(arguments).arg(&self.path);
        command
    }
}

/// What a build has made.
pub(crate) struct Build {
    /// Test executables, in the order of [`TargetId::rank`].
    pub(crate) executables: Vec<Executable>,
    /// Targets that have no harness.
    pub(crate) skipped: Vec<TargetId>,
    /// What was to be instrumented, and could not be.
    pub(crate) notes: Vec<Note>,
    /// What does not work on this target; why accesses to plain memory are not checked.
    pub(crate) remarks: Vec<String>,
}

/// The stack of a thread in tests that know nothing of icb: what real threads have.
const STACK_SIZE: &str = "2097152";

/// The cargo that called us, or the one of the path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds the selected tests.
pub(crate) fn build(
    workspace: &Workspace,
    targets: &TargetArgs,
    options: &BuildArgs,
) -> Result<Build, Error> {
    workspace.check_manifests()?;
    selection::check(workspace, targets, options)?;
    let division = divide(workspace, targets);
    let both = division.opted_in.is_some() && division.unchanged.is_some();
    let options_of = |targets: &TargetArgs| match both {
        true => selection::features_within(options, &workspace.selected(targets)),
        false => options.clone(),
    };
    if let (None, Some(package)) = (&division.opted_in, options.instrument.first()) {
        return Err(Error::Usage(format!(
            "--instrument {package}: none of the tested packages depends on icb-std, so that all they depend on is compiled against it anyway; \
             leave it out, or choose with --only and --except"
        )));
    }
    let mut build =
        Build { executables: Vec::new(), skipped: Vec::new(), notes: Vec::new(), remarks: Vec::new() };
    if let Some(targets) = &division.opted_in {
        build_opted_in(workspace, targets, &options_of(targets), &mut build)?;
    }
    if let Some(targets) = &division.unchanged {
        build_unchanged(workspace, targets, &options_of(targets), &mut build)?;
    }
    // Cargo tells of them as they are finished, which is not always in the same order.
    build.executables.sort_by(|a, b| a.target.rank().cmp(&b.target.rank()));
    Ok(build)
}

/// Packages that name the mirrored library.
fn build_opted_in(
    workspace: &Workspace,
    targets: &TargetArgs,
    options: &BuildArgs,
    built: &mut Build,
) -> Result<(), Error> {
    let mut recipe = Recipe::new(workspace, options)?;
    let instrumented = workspace.instrumented(&options.instrument);
    recipe.accesses = accesses::decide(workspace, targets, options, &recipe, &Seen::Opted(&instrumented))?;
    recipe.hooks = probe::hooks(workspace, &recipe.triple);
    let swap = swap::prepare(workspace, options, &recipe)?;
    let made = run(recipe.tests(targets, swap)?)?;
    assemble(workspace, &recipe, made, built);
    Ok(())
}

/// Packages that know nothing of it.
fn build_unchanged(
    workspace: &Workspace,
    targets: &TargetArgs,
    options: &BuildArgs,
    built: &mut Build,
) -> Result<(), Error> {
    let mut recipe = Recipe::new(workspace, options)?;
    let stand_ins = StandIns::asked_for(options);
    if let Some(stand_ins) = &stand_ins {
        stand_ins.check(workspace, options)?;
    }
    for hint in stand_in::hints(workspace, options, &recipe.config) {
        notice::say(format_args!("hint: {hint}"));
    }
    let lists = Lists::new(workspace, options)?;
    if stand_ins.is_none() || options.accesses {
        recipe.accesses = accesses::decide(workspace, targets, options, &recipe, &lists.seen())?;
    }
    let (facade, _kept) = facade::prepare(workspace, options, &recipe.triple)?;
    let zero = Zero::new(workspace, lists, facade, stand_ins);
    recipe.directory = zero.directory.clone();
    recipe.zero = Some(zero);
    let mut made = run(recipe.tests(targets, Vec::new())?)?;
    let note = recipe.zero.as_ref().and_then(|zero| zero.notes(&files(&made)).into_iter().next());
    if let Some(note) = note.filter(|_| recipe.accesses.on && !options.accesses) {
        recipe.accesses = accesses::not_instrumented(&note.package);
        made = run(recipe.tests(targets, Vec::new())?)?;
    }
    assemble(workspace, &recipe, made, built);
    Ok(())
}

fn files(made: &Made) -> Vec<&str> {
    made.artifacts.iter().flat_map(|made| &made.filenames).map(|path| path.as_str()).collect()
}

/// How everything is built: what is the same for the tests and for the mirrored library.
pub(crate) struct Recipe<'a> {
    options: &'a BuildArgs,
    directory: PathBuf,
    /// What cargo calls the members: their names may be those of packages that they depend on, too (an older version of themselves, say).
    members: BTreeMap<String, String>,
    /// If the packages know nothing of icb.
    zero: Option<Zero>,
    /// Whether accesses to plain memory are reported.
    pub(crate) accesses: Decision,
    /// Hooks for programs that nothing of icb is linked into.
    hooks: PathBuf,
    /// The user's configuration of cargo.
    pub(crate) config: Config,
    /// The target triple.
    pub(crate) triple: String,
    /// Whether cargo has to be told.
    tell_triple: bool,
    /// The profile.
    pub(crate) profile: String,
}

impl<'a> Recipe<'a> {
    /// Takes the user's options, configuration and environment together.
    pub(crate) fn new(workspace: &Workspace, options: &'a BuildArgs) -> Result<Recipe<'a>, Error> {
        let config = Config::here()?;
        // With an explicit target, build scripts and procedural macros are built without our flags.
        let configured = config.chosen_target().map(|(triple, _)| triple);
        let tell_triple = options.target.is_some() || configured.is_none();
        let triple = match options.target.clone().or(configured) {
            Some(triple) => triple,
            None => host()?,
        };
        let profile = options.profile().unwrap_or_else(|| "icb".to_owned());
        let directory = workspace.directory.clone();
        let (accesses, hooks) = (Decision::default(), PathBuf::new());
        let members = workspace.specs();
        Ok(Recipe {
            options,
            directory,
            members,
            zero: None,
            accesses,
            hooks,
            config,
            triple,
            tell_triple,
            profile,
        })
    }

    /// The command that builds the tests of a selection.
    fn tests(&self, targets: &TargetArgs, environment: swap::Environment) -> Result<Command, Error> {
        let mut command = self.command("test")?;
        command.args(["--no-run", "--message-format=json-render-diagnostics"]);
        let package = targets.package.iter().map(|name| self.members.get(name).unwrap_or(name).clone());
        let targets = TargetArgs { package: package.collect(), ..targets.clone() };
        command.args(targets.to_cargo()).args(self.options.features_to_cargo()).envs(environment);
        Ok(command)
    }

    /// A command of cargo that builds.
    pub(crate) fn command(&self, subcommand: &str) -> Result<Command, Error> {
        let mut command = Command::new(cargo());
        command.arg(subcommand);
        self.place(&mut command);
        if let Some(jobs) = self.options.jobs {
            command.args(["--jobs", &jobs.to_string()]);
        }
        let variable = |name: &str| std::env::var(name).ok();
        let (encoded, plain) = (variable("CARGO_ENCODED_RUSTFLAGS"), variable("RUSTFLAGS"));
        match self.config.route(&self.flags(), encoded.as_deref(), plain.as_deref(), &self.triple) {
            Route::Environment(flags) => {
                command.env("CARGO_ENCODED_RUSTFLAGS", flags).env_remove("RUSTFLAGS")
            }
            Route::Argument(setting) => command.args(["--config", &setting]),
        };
        command.envs(self.environment()?);
        if self.zero.is_none() {
            let users = variable("RUSTC_BOOTSTRAP");
            command.env("RUSTC_BOOTSTRAP", bootstrap(users.as_deref(), &["icb_std"]));
        }
        Ok(command)
    }

    /// Compiler flags that cargo knows of.
    fn flags(&self) -> Vec<String> {
        match &self.zero {
            Some(zero) => zero.flags(self.accesses.on),
            None if self.accesses.on => [config::flags(), wrapper::key("icb_accesses", &()).into()].concat(),
            None => config::flags(),
        }
    }

    /// What cargo and the compiler wrapper must know, if there is one.
    fn environment(&self) -> Result<swap::Environment, Error> {
        let mut environment = match &self.zero {
            Some(zero) => zero.environment(self.accesses.on),
            None if self.accesses.on => {
                let own = self.accesses.own.iter().cloned().collect::<Vec<_>>().join(",");
                vec![
                    (wrapper::ACCESSES, "*".into()),
                    (wrapper::OWN, own.into()),
                    (wrapper::HOOKS, self.hooks.clone().into_os_string()),
                ]
            }
            None => return Ok(Vec::new()),
        };
        environment.extend(self.wrapper()?);
        Ok(environment)
    }

    /// This executable as the compiler wrapper, before that of the user.
    pub(crate) fn wrapper(&self) -> Result<swap::Environment, Error> {
        let itself =
            std::env::current_exe().map_err(|error| Error::internal("cannot find this executable", error))?;
        if !itself.exists() {
            return Err(Error::Usage(format!(
                "{} is not there any more, so that cargo cannot call it: it was replaced or removed meanwhile; run the command again",
                itself.display()
            )));
        }
        let next = self.config.wrapper().map(|users| (wrapper::NEXT, users));
        Ok([("RUSTC_WRAPPER", itself.into_os_string())].into_iter().chain(next).collect())
    }

    /// Tells cargo the workspace, and where artifacts go.
    pub(crate) fn place(&self, command: &mut Command) {
        command.args(self.options.locking_to_cargo());
        command.args(self.options.quiet.then_some("--quiet"));
        command.args(self.options.verbose.then_some("--verbose"));
        if let Some(path) = &self.options.manifest_path {
            command.arg("--manifest-path").arg(path);
        }
        if self.options.profile().is_none() {
            command.args(PROFILE.iter().flat_map(|setting| ["--config", setting]));
            // Cargo warns of packages that are not there.
            if self.zero.is_none() {
                command.args(OURS.iter().flat_map(|setting| ["--config", setting]));
            }
        }
        command.args(["--profile", &self.profile]);
        if self.tell_triple {
            command.args(["--target", &self.triple]);
        }
        command.arg("--target-dir").arg(&self.directory);
    }
}

/// What cargo says it has made.
#[derive(Default)]
pub(crate) struct Made {
    /// Everything that was compiled, or was fresh.
    pub(crate) artifacts: Vec<Artifact>,
    scripts: HashMap<PackageId, BuildScript>,
}

/// Runs cargo, whose own messages go to the terminal, and collects what it has made.
pub(crate) fn run(mut command: Command) -> Result<Made, Error> {
    let failed = |error| Error::internal("cannot run cargo", error);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut made = Made::default();
    for message in child.stdout.take().into_iter().flat_map(|out| Message::parse_stream(BufReader::new(out)))
    {
        match message.map_err(failed)? {
            Message::CompilerArtifact(artifact) => made.artifacts.push(artifact),
            Message::BuildScriptExecuted(script) => {
                made.scripts.insert(script.package_id.clone(), script);
            }
            _ => {}
        }
    }
    if child.wait().map_err(failed)?.success() { Ok(made) } else { Err(Error::Build) }
}

fn assemble(workspace: &Workspace, recipe: &Recipe<'_>, made: Made, built: &mut Build) {
    let mut shared = recipe.config.environment(&workspace.root);
    let toolchain = toolchain_libraries();
    let runner = recipe.config.runner(&recipe.triple);
    let untried = untried(&recipe.triple).filter(|remark| !built.remarks.contains(remark));
    built.remarks.extend(untried.into_iter().chain(recipe.accesses.note.clone()));
    let unchanged = recipe.zero.as_ref().is_some_and(Zero::is_unchanged);
    if let Some(zero) = &recipe.zero {
        let settings = match unchanged {
            true => &[("ICB_STACK_SIZE", STACK_SIZE), ("ICB_DETACHED", "1"), ("ICB_FIXED_HASHING", "1")][..],
            false => &[("ICB_ONCE", "1"), ("ICB_FIXED_HASHING", "1")],
        };
        shared.extend(settings.iter().map(|(name, value)| (name.into(), value.into())));
        built.notes = zero.notes(&files(&made));
        if unchanged && built.notes.is_empty() {
            // Whatever keeps memory alive is seen.
            shared.push(("ICB_CHECK_FREES".into(), "1".into()));
        }
    }
    let Made { artifacts, scripts } = made;
    for artifact in artifacts.into_iter().filter(|artifact| artifact.profile.test) {
        let Some((package, path)) = workspace.package(&artifact.package_id).zip(artifact.executable) else {
            continue;
        };
        let target = TargetId::new(package.name.as_str(), &artifact.target);
        if !has_harness(package, &artifact.target) {
            built.skipped.push(target);
            continue;
        }
        let path: PathBuf = path.into();
        let mut environment = shared.clone();
        environment.extend(package_environment(package, scripts.get(&package.id)));
        environment.push(library_path(&path, scripts.values(), &recipe.directory, toolchain.as_deref()));
        let directory = package.manifest_path.parent().map(PathBuf::from).unwrap_or_default();
        let accesses = recipe.accesses.on;
        let runner = runner.clone();
        built.executables.push(Executable {
            target,
            path,
            runner,
            directory,
            environment,
            unchanged,
            accesses,
        });
    }
}

/// What people should know of targets on which nothing was ever run.
fn untried(triple: &str) -> Option<String> {
    (!triple.contains("-linux-")).then(|| {
        format!(
            "never tried on {triple}: there statics keep what an execution leaves in them, and random hashing, random numbers and the \
             system's clocks are not the model's, so that a test which depends on them diverges"
        )
    })
}

/// What cargo sets for the tests of a package.
fn package_environment(package: &Package, script: Option<&BuildScript>) -> Vec<(OsString, OsString)> {
    let version = &package.version;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let path =
        |path: &Option<cargo_metadata::camino::Utf8PathBuf>| path.clone().unwrap_or_default().into_string();
    let directory = package.manifest_path.parent().map(ToString::to_string).unwrap_or_default();
    let mut variables: Vec<(OsString, OsString)> = [
        ("CARGO_MANIFEST_DIR", directory),
        ("CARGO_MANIFEST_PATH", package.manifest_path.to_string()),
        ("CARGO_PKG_NAME", package.name.to_string()),
        ("CARGO_PKG_VERSION", version.to_string()),
        ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
        ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
        ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
        ("CARGO_PKG_VERSION_PRE", version.pre.to_string()),
        ("CARGO_PKG_AUTHORS", package.authors.join(":")),
        ("CARGO_PKG_DESCRIPTION", text(&package.description)),
        ("CARGO_PKG_HOMEPAGE", text(&package.homepage)),
        ("CARGO_PKG_REPOSITORY", text(&package.repository)),
        ("CARGO_PKG_LICENSE", text(&package.license)),
        ("CARGO_PKG_LICENSE_FILE", path(&package.license_file)),
        ("CARGO_PKG_README", path(&package.readme)),
        (
            "CARGO_PKG_RUST_VERSION",
            package.rust_version.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    variables.push(("CARGO".into(), cargo()));
    if let Some(script) = script {
        variables.push(("OUT_DIR".into(), script.out_dir.clone().into_os_string()));
        variables.extend(script.env.iter().map(|(name, value)| (name.into(), value.into())));
    }
    variables
}

/// Where the dynamic linker looks: the directories of the build, of build scripts and of the toolchain.
fn library_path<'a>(
    executable: &Path,
    scripts: impl Iterator<Item = &'a BuildScript>,
    icb_directory: &Path,
    toolchain: Option<&Path>,
) -> (OsString, OsString) {
    let name = if cfg!(target_os = "macos") {
        "DYLD_FALLBACK_LIBRARY_PATH"
    } else if cfg!(windows) {
        "PATH"
    } else {
        "LD_LIBRARY_PATH"
    };
    let mut paths: Vec<PathBuf> = executable.ancestors().skip(1).take(2).map(Path::to_path_buf).collect();
    for linked in scripts.flat_map(|script| &script.linked_paths) {
        let linked = linked.as_str();
        let path = Path::new(linked.split_once('=').map_or(linked, |(_, path)| path));
        if path.starts_with(icb_directory) {
            paths.push(path.to_path_buf());
        }
    }
    paths.extend(toolchain.map(Path::to_path_buf));
    paths.extend(std::env::var_os(name).iter().flat_map(std::env::split_paths));
    let joined = std::env::join_paths(paths).unwrap_or_default();
    (name.into(), joined)
}

/// Where the toolchain keeps its shared `std`: the tests of a procedural macro are linked to it.
fn toolchain_libraries() -> Option<PathBuf> {
    let path = PathBuf::from(rustc(&["--print", "target-libdir"]).ok()?.trim());
    path.is_dir().then_some(path)
}

/// What `rustc -vV` says.
pub(super) fn rustc_version() -> Result<String, Error> {
    rustc(&["-vV"])
}

/// What the compiler says.
pub(super) fn rustc(arguments: &[&str]) -> Result<String, Error> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc).args(arguments).output().map_err(|error| {
        Error::Usage(format!(
            "cannot run the compiler {}: {error}; set RUSTC to one, or unset it and have `rustc` in the path",
            rustc.display()
        ))
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The triple of this machine.
pub(crate) fn host() -> Result<String, Error> {
    let text = rustc_version()?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        Error::Usage(format!(
            "{} -vV names no host, as a compiler of Rust does; set RUSTC to one, or unset it and have `rustc` in the path",
            rustc.display()
        ))
    })
}
