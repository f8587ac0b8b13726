//! The compiler wrapper: what this executable is when cargo calls it as `RUSTC_WRAPPER`.
//!
//! For the packages that are to be instrumented it adds `--extern std=…`, `core=…` and `alloc=…`, all three the
//! mirrored library, and everywhere it makes `icb_std` mean that same library, so that a program holds only one.
//! Build scripts and procedural macros are compiled without `--target`, for the real world; they stay as they are.
//!
//! Where every crate is instrumented, whether it can be is found out by trying (`attempt`). Where accesses to plain memory
//! are checked, it adds the flags for that (`probe`), also where there is nothing to instrument.

use super::attempt::{Attempts, Notes};
use super::config::keyed;
use super::metadata::names;
use super::{probe, stand_in};
use crate::report::notice;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Path of the mirrored library, where the wrapper has to put it in the place of others; its presence, or that of
/// [`ACCESSES`], tells the executable that it is called as a wrapper.
pub(crate) const LIBRARY: &str = "ICB_SWAP_LIBRARY";
/// The packages, separated by commas; `*` is every one.
pub(crate) const PACKAGES: &str = "ICB_SWAP_PACKAGES";
/// Packages that are left alone all the same.
pub(crate) const EXCEPT: &str = "ICB_SWAP_EXCEPT";
/// The harness with the allocator, and the one without; where there are none, `test` is the real one.
pub(crate) const HARNESSES: [&str; 2] = ["ICB_SWAP_HARNESS", "ICB_SWAP_PLAIN_HARNESS"];
/// The packages that report every access to plain memory, as in [`PACKAGES`].
pub(crate) const ACCESSES: &str = "ICB_SWAP_ACCESSES";
/// Where the library is and everything that it was compiled with, procedural macros as well: the compiler asks for these too.
pub(crate) const DIRECTORIES: &str = "ICB_SWAP_DIRECTORIES";
/// The directory of notes about what could not be instrumented.
pub(crate) const NOTES: &str = "ICB_SWAP_NOTES";
/// The user's own wrapper, if there is one.
pub(crate) const NEXT: &str = "ICB_SWAP_NEXT_WRAPPER";

/// Packages that the hooks are made of, if cargo builds them together with the user's.
pub(crate) const OWN: &str = "ICB_SWAP_OWN";
/// A library of hooks for programs that nothing else of the kind is linked into.
pub(crate) const HOOKS: &str = "ICB_SWAP_HOOKS";
/// How these are compiled: optimised, else they are slow, and generic code of `std` that the user's crates need as well is
/// taken from them, where it reports nothing; with the names of functions, by which backtraces tell them from the user's.
const OWN_FLAGS: [&str; 2] = ["-Copt-level=3", "-Cdebuginfo=limited"];

/// What stands in the place of another crate may be warned of where that is not (a lock that nobody keeps, an `extern crate std` that is not
/// needed); a crate that denies warnings cannot help it.
const LINT_CAP: &str = "--cap-lints=warn";

/// Flags by which cargo notices that the wrapper would compile in another way: as `what` says, or because it is that of
/// another version.
pub(crate) fn key(name: &str, what: &impl Hash) -> [String; 4] {
    let mut hasher = DefaultHasher::new();
    let ways = [include_str!("wrapper.rs"), include_str!("attempt.rs")];
    (what, ways, probe::ways()).hash(&mut hasher);
    keyed(name, hasher.finish())
}

/// Whether cargo has called this executable as its compiler wrapper.
pub(crate) fn is_called() -> bool {
    [LIBRARY, ACCESSES].into_iter().any(|name| std::env::var_os(name).is_some())
}

/// Compiles, with what this process was given on its command line.
pub(crate) fn run() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((rustc, arguments)) = arguments.split_first() else {
        notice::say(format_args!(
            "error: {LIBRARY} or {ACCESSES} is set, but this is not cargo calling its compiler wrapper; unset it"
        ));
        return ExitCode::FAILURE;
    };
    let compiler = Compiler { rustc: rustc.clone(), next: std::env::var_os(NEXT).filter(|n| !n.is_empty()) };
    if !is_for_the_target(arguments) {
        return execute(compiler.command(arguments.to_vec()));
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (package, version) = (variable("CARGO_PKG_NAME"), variable("CARGO_PKG_VERSION"));
    let lists =
        |list: &str| variable(list).split(',').any(|spec| spec == "*" || names(spec, &package, &version));
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let library = path(LIBRARY);
    let with_hooks = path(HOOKS).filter(|_| is_program(arguments)).map(|hooks| with_hooks(arguments, &hooks));
    let arguments = with_hooks.as_deref().unwrap_or(arguments);
    let excepted = lists(EXCEPT);
    let mut flags: Vec<&str> = match (lists(OWN), lists(ACCESSES)) {
        (true, _) => OWN_FLAGS.into(),
        (false, true) if !excepted => access_flags(arguments, lists(PACKAGES)),
        _ => Vec::new(),
    };
    let stand_ins = stand_in::called_for();
    let source =
        stand_ins.as_ref().and_then(|all| all.source_of(&package)).filter(|_| !is_program(arguments));
    let is_swapped = lists(PACKAGES) && !excepted;
    let is_beside = stand_ins.is_some() && source.is_none();
    if (is_swapped || is_beside) && !has_lint_cap(arguments) {
        flags.push(LINT_CAP);
    }
    let swap = Swap {
        library: library.as_deref(),
        directories: std::env::var_os(DIRECTORIES).iter().flat_map(std::env::split_paths).collect(),
        harnesses: HARNESSES.map(path),
        flags: &flags,
    };
    let notes = std::env::var_os(NOTES).map(|place| Notes::new(place.into(), &package, &version, arguments));
    if stand_ins.is_some() {
        if let Some((source, library)) = source.zip(library.as_deref()) {
            let arguments = stand_in::rewrite(arguments, source, library);
            return execute(compiler.command(swap.rewrite(&arguments, Facades::None, None)));
        }
        // What orders accesses has to be seen, also where it is std's; else the crates are what they are.
        if std::env::var_os(ACCESSES).is_none() {
            return match notes.filter(|_| swap.harness(arguments, false).is_some()) {
                Some(notes) => Attempts { compiler, swap, facades: &[Facades::None], notes }.run(arguments),
                None => execute(compiler.command(swap.rewrite(arguments, Facades::None, None))),
            };
        }
    }
    if !is_swapped {
        return execute(compiler.command(swap.rewrite(arguments, Facades::None, None)));
    }
    match notes {
        Some(notes) => {
            Attempts { compiler, swap, facades: &[Facades::All, Facades::NotAlloc], notes }.run(arguments)
        }
        None => execute(compiler.command(swap.rewrite(arguments, Facades::All, None))),
    }
}

/// Whether a crate is compiled, and for the target: not for the build itself, and not to ask the compiler something.
fn is_for_the_target(arguments: &[OsString]) -> bool {
    let has_target = |argument: &OsString| argument == "--target" || starts_with(argument, "--target=");
    arguments.iter().any(has_target) && !arguments.iter().any(|argument| argument == "___" || argument == "-")
}

/// The flags of a crate that reports its accesses. Whose an access is, is told by the debug information of the program, so
/// there has to be some. `mirrored`: it is compiled against the mirrored `std`.
fn access_flags(arguments: &[OsString], mirrored: bool) -> Vec<&'static str> {
    let level = |argument: &OsString| {
        let text = argument.to_str()?;
        text.trim_start_matches("-C").trim_start().strip_prefix("debuginfo=").map(str::to_owned)
    };
    let has_some =
        arguments.iter().filter_map(level).next_back().is_some_and(|level| !["0", "none"].contains(&&*level));
    let names: &[&str] = if has_some { &[] } else { &["-Cdebuginfo=limited"] };
    [&probe::flags(mirrored)[..], &["-Cstrip=none"], names].concat()
}

/// Whether cargo has said how severe lints may be, which can be said only once.
fn has_lint_cap(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| starts_with(argument, "--cap-lints"))
}

/// Whether a program is made, and not a library.
fn is_program(arguments: &[OsString]) -> bool {
    let is_bin = |pair: &[OsString]| pair[0] == "--crate-type" && pair[1] == "bin";
    arguments.iter().any(|argument| argument == "--test" || argument == "--crate-type=bin")
        || arguments.windows(2).any(is_bin)
}

fn with_hooks(arguments: &[OsString], hooks: &Path) -> Vec<OsString> {
    let mut flag = OsString::from("-Clink-arg=");
    flag.push(hooks);
    arguments.iter().cloned().chain([flag]).collect()
}

/// The compiler, and what stands before it.
pub(super) struct Compiler {
    rustc: OsString,
    next: Option<OsString>,
}

impl Compiler {
    /// A call of the compiler.
    pub(super) fn command(&self, arguments: Vec<OsString>) -> Command {
        let mut command = match &self.next {
            Some(next) => {
                let mut command = Command::new(next);
                command.arg(&self.rustc);
                command
            }
            None => Command::new(&self.rustc),
        };
        command.args(arguments);
        let ours =
            [LIBRARY, PACKAGES, EXCEPT, DIRECTORIES, NOTES, NEXT, ACCESSES, OWN, HOOKS, stand_in::SOURCES];
        ours.into_iter().chain(HARNESSES).for_each(|name| _ = command.env_remove(name));
        command
    }
}

/// Which names the mirrored library takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Facades {
    /// `std`, `core` and `alloc`.
    All,
    /// Not `alloc`, for crates in which that name means something of their own.
    NotAlloc,
    /// None: the crate is compiled as it is.
    None,
}

impl Facades {
    fn names(self) -> &'static [&'static str] {
        match self {
            Facades::All => &["std", "core", "alloc"],
            Facades::NotAlloc => &["std", "core"],
            Facades::None => &[],
        }
    }
}

/// What is put in the place of what.
#[derive(Clone)]
pub(super) struct Swap<'a> {
    /// Where there is none, everything stays in its place.
    library: Option<&'a Path>,
    directories: Vec<PathBuf>,
    harnesses: [Option<PathBuf>; 2],
    /// Further flags.
    flags: &'a [&'a str],
}

impl Swap<'_> {
    /// The same for a crate that stays as it is.
    pub(super) fn without_flags(&self) -> Self {
        Swap { flags: &[], ..self.clone() }
    }

    /// One of the harnesses, for a target that is compiled with `--test`.
    pub(super) fn harness(&self, arguments: &[OsString], plain: bool) -> Option<&Path> {
        let is_test = arguments.iter().any(|argument| argument == "--test");
        self.harnesses[usize::from(plain)].as_deref().filter(|_| is_test)
    }

    /// The compiler's arguments with the mirrored library in them.
    pub(super) fn rewrite(
        &self,
        arguments: &[OsString],
        facades: Facades,
        harness: Option<&Path>,
    ) -> Vec<OsString> {
        let flags = self.flags.iter().map(OsString::from);
        // A crate cannot help what stands in the place of `std`.
        let allowed = (!facades.names().is_empty()).then(|| "-Aunused_crate_dependencies".into());
        let Some(library) = self.library else { return arguments.iter().cloned().chain(flags).collect() };
        let mut rewritten: Vec<OsString> = Vec::with_capacity(arguments.len() + 13);
        for argument in arguments {
            let follows = rewritten.last().is_some_and(|last| last == "--extern");
            match argument.to_str().and_then(|text| text.split_once("icb_std=")) {
                Some((options, _)) if follows && (options.is_empty() || options.ends_with(':')) => {
                    rewritten.pop();
                    rewritten.extend(externs(&format!("{options}icb_std"), library));
                }
                _ => rewritten.push(argument.clone()),
            }
        }
        rewritten.extend(flags.chain(allowed));
        // A name that means a dependency of the crate goes on meaning it.
        let is_taken = |name: &str| {
            arguments.windows(2).any(|pair| pair[0] == "--extern" && extern_name(&pair[1]) == Some(name))
        };
        let facades = facades.names().iter().filter(|name| !is_taken(name)).map(|name| (*name, library));
        for (name, path) in facades.chain(harness.map(|path| ("test", path))) {
            rewritten.extend(externs(name, path));
        }
        // Also for crates that are left alone: they may depend on instrumented ones.
        for directory in &self.directories {
            rewritten.extend(["-L".into(), named("dependency", directory)]);
        }
        rewritten
    }
}

/// `--extern` for a library and, where it is beside it, for its metadata, which newer releases do not put into the library.
pub(super) fn externs(name: &str, library: &Path) -> impl Iterator<Item = OsString> {
    let metadata = Some(library.with_extension("rmeta")).filter(|path| path.exists());
    let paths = [Some(library.to_path_buf()), metadata].into_iter().flatten();
    paths.flat_map(move |path| ["--extern".into(), named(name, &path)])
}

fn named(name: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(name);
    argument.push("=");
    argument.push(path);
    argument
}

/// The name in `OPTIONS:NAME=PATH`, the value of `--extern`.
fn extern_name(value: &OsStr) -> Option<&str> {
    let name = value.to_str()?.split('=').next()?;
    Some(name.rsplit(':').next().unwrap_or(name))
}

fn starts_with(argument: &OsStr, prefix: &str) -> bool {
    argument.as_encoded_bytes().starts_with(prefix.as_bytes())
}

/// Becomes the command where the system can do that, else runs it.
pub(super) fn execute(mut command: Command) -> ExitCode {
    #[cfg(unix)]
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let error = match command.status() {
        Ok(status) => return ExitCode::from(status.code().map_or(1, |code| code as u8)),
        Err(error) => error,
    };
    notice::say(format_args!("error: cannot run {}: {error}", command.get_program().display()));
    ExitCode::FAILURE
}

#[cfg(test)]
mod unit {
    use super::*;

    fn words(arguments: &str) -> Vec<OsString> {
        arguments.split(' ').map(OsString::from).collect()
    }

    fn rewritten(arguments: &str, facades: Facades, plain: bool) -> String {
        let swap = Swap {
            library: Some(Path::new("/d/libicb_std-1.rlib")),
            directories: vec!["/d".into(), "/e".into()],
            harnesses: ["/d/h.rlib", "/d/p.rlib"].map(|path| Some(path.into())),
            flags: &[],
        };
        let arguments = words(arguments);
        let harness = swap.harness(&arguments, plain);
        swap.rewrite(&arguments, facades, harness).join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn std_is_replaced_for_instrumented_packages() {
        assert_eq!(
            rewritten("--crate-name spin --target t --extern a=/x", Facades::All, false),
            "--crate-name spin --target t --extern a=/x -Aunused_crate_dependencies --extern std=/d/libicb_std-1.rlib \
             --extern core=/d/libicb_std-1.rlib --extern alloc=/d/libicb_std-1.rlib -L dependency=/d -L dependency=/e"
        );
        assert_eq!(
            rewritten("--crate-name spin --test", Facades::NotAlloc, true),
            "--crate-name spin --test -Aunused_crate_dependencies --extern std=/d/libicb_std-1.rlib \
             --extern core=/d/libicb_std-1.rlib --extern test=/d/p.rlib -L dependency=/d -L dependency=/e"
        );
        // Crates that have dependencies of these names.
        assert_eq!(
            rewritten(
                "--extern noprelude:core=/x/c --extern priv:a=/x/a --extern alloc=/x/a",
                Facades::All,
                false
            ),
            "--extern noprelude:core=/x/c --extern priv:a=/x/a --extern alloc=/x/a -Aunused_crate_dependencies \
             --extern std=/d/libicb_std-1.rlib -L dependency=/d -L dependency=/e"
        );
    }

    #[test]
    fn there_is_one_mirrored_library() {
        let arguments =
            "--target=t --extern icb_std=/y/a.rmeta --extern priv:icb_std=/y/b --extern my_icb_std=/z";
        assert_eq!(
            rewritten(arguments, Facades::None, false),
            "--target=t --extern icb_std=/d/libicb_std-1.rlib --extern priv:icb_std=/d/libicb_std-1.rlib \
             --extern my_icb_std=/z -L dependency=/d -L dependency=/e"
        );
    }

    #[test]
    fn there_is_debug_information_where_accesses_are_reported() {
        for (arguments, added) in [
            ("-C debuginfo=1", false),
            ("-Cdebuginfo=line-tables-only", false),
            ("-C debuginfo=2 -C debuginfo=0", true),
            ("-C opt-level=3 -C strip=debuginfo", true),
        ] {
            let flags = access_flags(&words(arguments), true);
            assert_eq!(flags.contains(&"-Cdebuginfo=limited"), added, "{arguments}");
            assert!(flags.contains(&"-Cstrip=none"));
        }
    }

    #[test]
    fn lints_are_capped_once() {
        for (arguments, expected) in [
            ("--crate-name a --cap-lints allow", true),
            ("--cap-lints=warn", true),
            ("--crate-name a", false),
        ] {
            assert_eq!(has_lint_cap(&words(arguments)), expected, "{arguments}");
        }
    }

    #[test]
    fn programs_are_told_from_libraries() {
        for (arguments, expected) in [
            ("--crate-name a --test", true),
            ("--crate-name a --crate-type bin", true),
            ("--crate-name a --crate-type lib", false),
            ("--crate-name bin --crate-type rlib", false),
        ] {
            assert_eq!(is_program(&words(arguments)), expected, "{arguments}");
        }
    }

    #[test]
    fn what_runs_while_building_is_left_alone() {
        for (arguments, expected) in [
            ("--crate-name build_script_build --extern icb_std=/y", false),
            ("- --crate-name ___ --print=file-names --target t", false),
            ("--crate-name a src/lib.rs --target t", true),
            ("--crate-name a src/lib.rs --target=t", true),
        ] {
            assert_eq!(is_for_the_target(&words(arguments)), expected, "{arguments}");
        }
    }
}
