//! The compiler wrapper: what this executable is when cargo calls it as `RUSTC_WRAPPER`.
//!
//! For the packages that are to be instrumented it adds `--extern std=…`, `core=…` and `alloc=…`, all three the
//! mirrored library, and everywhere it makes `icb_std` mean that same library, so that a program holds only one.
//! Build scripts and procedural macros are compiled without `--target`, for the real world; they stay as they are.
//!
//! Where every crate is instrumented, whether it can be is found out by trying (`attempt`).

use super::attempt::{Attempts, Notes};
use super::swap::names;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Path of the mirrored library; its presence tells the executable that it is called as a wrapper.
pub(crate) const LIBRARY: &str = "ICB_SWAP_LIBRARY";
/// The packages, separated by commas; `*` is every one.
pub(crate) const PACKAGES: &str = "ICB_SWAP_PACKAGES";
/// Packages that are left alone all the same.
pub(crate) const EXCEPT: &str = "ICB_SWAP_EXCEPT";
/// The harness with the allocator, and the one without; where there are none, `test` is the real one.
pub(crate) const HARNESSES: [&str; 2] = ["ICB_SWAP_HARNESS", "ICB_SWAP_PLAIN_HARNESS"];
/// Set if the instrumented crates report every access to plain memory.
pub(crate) const ACCESSES: &str = "ICB_SWAP_ACCESSES";
/// The compiler's flags for that: LLVM's instrumentation pass for the thread sanitizer, whose hooks the mirrored library
/// defines. Atomics are left out, because the mirrored types report them.
/// It runs before the optimiser, which would delete accesses, and widen some beyond what the pass knows.
const ACCESS_FLAGS: [&str; 3] = [
    "-Cno-prepopulate-passes",
    "-Cpasses=forceattrs,function(mem2reg),tsan-module,function(tsan),default<O2>",
    "-Cllvm-args=-force-attribute=sanitize_thread -tsan-instrument-read-before-write=1 \
     -tsan-instrument-func-entry-exit=0 -tsan-instrument-atomics=0",
];
/// Where the procedural macros are that the library was compiled with, if cargo does not say so itself.
pub(crate) const MACROS: &str = "ICB_SWAP_MACROS";
/// The directory of notes about what could not be instrumented.
pub(crate) const NOTES: &str = "ICB_SWAP_NOTES";
/// The user's own wrapper, if there is one.
pub(crate) const NEXT: &str = "ICB_SWAP_NEXT_WRAPPER";

/// The mirrored library, if cargo has called this executable as its compiler wrapper.
pub(crate) fn library() -> Option<PathBuf> {
    std::env::var_os(LIBRARY).map(PathBuf::from)
}

/// Compiles, with what this process was given on its command line.
pub(crate) fn run(library: &Path) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((rustc, arguments)) = arguments.split_first() else {
        eprintln!("error: {LIBRARY} is set, but this is not cargo calling its compiler wrapper; unset it");
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
    let accesses = std::env::var_os(ACCESSES).is_some();
    let swap = Swap { library, macros: path(MACROS), harnesses: HARNESSES.map(path), accesses };
    if !lists(PACKAGES) || lists(EXCEPT) {
        return execute(compiler.command(swap.rewrite(arguments, Facades::None, None)));
    }
    match std::env::var_os(NOTES) {
        Some(directory) => {
            let notes = Notes::new(directory.into(), &package, &version, arguments);
            Attempts { compiler, swap, notes }.run(arguments)
        }
        None => execute(compiler.command(swap.rewrite(arguments, Facades::All, None))),
    }
}

/// Whether a crate is compiled, and for the target: not for the build itself, and not to ask the compiler something.
fn is_for_the_target(arguments: &[OsString]) -> bool {
    let has_target = |argument: &OsString| argument == "--target" || starts_with(argument, "--target=");
    arguments.iter().any(has_target) && !arguments.iter().any(|argument| argument == "___" || argument == "-")
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
        for name in [LIBRARY, PACKAGES, EXCEPT, MACROS, NOTES, NEXT, ACCESSES].into_iter().chain(HARNESSES) {
            command.env_remove(name);
        }
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
pub(super) struct Swap<'a> {
    library: &'a Path,
    macros: Option<PathBuf>,
    harnesses: [Option<PathBuf>; 2],
    accesses: bool,
}

impl Swap<'_> {
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
        let named = |name: &str, path: &Path| {
            let mut argument = OsString::from(name);
            argument.push("=");
            argument.push(path);
            argument
        };
        let mut rewritten: Vec<OsString> = Vec::with_capacity(arguments.len() + 10);
        for argument in arguments {
            let follows = rewritten.last().is_some_and(|last| last == "--extern");
            match argument.to_str().and_then(|text| text.split_once("icb_std=")) {
                Some((options, _)) if follows && (options.is_empty() || options.ends_with(':')) => {
                    rewritten.push(named(&format!("{options}icb_std"), self.library));
                }
                _ => rewritten.push(argument.clone()),
            }
        }
        if self.accesses && !facades.names().is_empty() {
            rewritten.extend(ACCESS_FLAGS.map(OsString::from));
        }
        let facades = facades.names().iter().map(|name| (*name, self.library));
        for (name, path) in facades.chain(harness.map(|path| ("test", path))) {
            rewritten.extend(["--extern".into(), named(name, path)]);
        }
        // Also for crates that are left alone: they may depend on instrumented ones.
        let directory = self.library.parent().unwrap_or(self.library);
        for directory in [Some(directory), self.macros.as_deref()].into_iter().flatten() {
            rewritten.extend(["-L".into(), named("dependency", directory)]);
        }
        rewritten
    }
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
    eprintln!("error: cannot run {}: {error}", command.get_program().display());
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
            library: Path::new("/d/libicb_std-1.rlib"),
            macros: None,
            harnesses: ["/d/h.rlib", "/d/p.rlib"].map(|path| Some(path.into())),
            accesses: false,
        };
        let arguments = words(arguments);
        let harness = swap.harness(&arguments, plain);
        swap.rewrite(&arguments, facades, harness).join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn std_is_replaced_for_instrumented_packages() {
        assert_eq!(
            rewritten("--crate-name spin --target t --extern a=/x", Facades::All, false),
            "--crate-name spin --target t --extern a=/x --extern std=/d/libicb_std-1.rlib \
             --extern core=/d/libicb_std-1.rlib --extern alloc=/d/libicb_std-1.rlib -L dependency=/d"
        );
        assert_eq!(
            rewritten("--crate-name spin --test", Facades::NotAlloc, true),
            "--crate-name spin --test --extern std=/d/libicb_std-1.rlib \
             --extern core=/d/libicb_std-1.rlib --extern test=/d/p.rlib -L dependency=/d"
        );
    }

    #[test]
    fn there_is_one_mirrored_library() {
        let arguments =
            "--target=t --extern icb_std=/y/a.rmeta --extern priv:icb_std=/y/b --extern my_icb_std=/z";
        assert_eq!(
            rewritten(arguments, Facades::None, false),
            "--target=t --extern icb_std=/d/libicb_std-1.rlib --extern priv:icb_std=/d/libicb_std-1.rlib \
             --extern my_icb_std=/z -L dependency=/d"
        );
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
