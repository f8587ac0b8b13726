//! The compiler wrapper: what this executable is when cargo calls it as `RUSTC_WRAPPER`.
//!
//! For the packages that are to be instrumented it adds `--extern std=…`, `core=…` and `alloc=…`, all three the
//! mirrored library, and everywhere it makes `icb_std` mean that same library, so that a program holds only one.
//! Build scripts and procedural macros are compiled without `--target`, for the real world; they stay as they are.

use super::swap::names;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Path of the mirrored library; its presence tells the executable that it is called as a wrapper.
pub(crate) const LIBRARY: &str = "ICB_SWAP_LIBRARY";
/// The packages, separated by commas.
pub(crate) const PACKAGES: &str = "ICB_SWAP_PACKAGES";
/// The user's own wrapper, if there is one.
pub(crate) const NEXT: &str = "ICB_SWAP_NEXT_WRAPPER";

/// The names under which the mirrored library takes std's place.
const FACADES: [&str; 3] = ["std", "core", "alloc"];

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
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (package, version) = (variable("CARGO_PKG_NAME"), variable("CARGO_PKG_VERSION"));
    let instrumented = variable(PACKAGES).split(',').any(|spec| names(spec, &package, &version));
    let mut command = match std::env::var_os(NEXT).filter(|next| !next.is_empty()) {
        Some(next) => {
            let mut command = Command::new(next);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };
    command.args(rewrite(arguments, library, instrumented));
    for name in [LIBRARY, PACKAGES, NEXT] {
        command.env_remove(name);
    }
    execute(command)
}

/// The compiler's arguments with the mirrored library in them.
fn rewrite(arguments: &[OsString], library: &Path, instrumented: bool) -> Vec<OsString> {
    let has_target = |argument: &OsString| argument == "--target" || starts_with(argument, "--target=");
    if !arguments.iter().any(has_target) {
        return arguments.to_vec();
    }
    let named = |name: &str| {
        let mut argument = OsString::from(name);
        argument.push("=");
        argument.push(library);
        argument
    };
    let mut rewritten: Vec<OsString> = Vec::with_capacity(arguments.len() + 8);
    for argument in arguments {
        let follows = rewritten.last().is_some_and(|last| last == "--extern");
        match argument.to_str().and_then(|text| text.split_once("icb_std=")) {
            Some((options, _)) if follows && (options.is_empty() || options.ends_with(':')) => {
                rewritten.push(named(&format!("{options}icb_std")));
            }
            _ => rewritten.push(argument.clone()),
        }
    }
    if instrumented {
        for facade in FACADES {
            rewritten.push("--extern".into());
            rewritten.push(named(facade));
        }
        let mut search = OsString::from("dependency=");
        search.push(library.parent().unwrap_or(library));
        rewritten.extend(["-L".into(), search]);
    }
    rewritten
}

fn starts_with(argument: &OsStr, prefix: &str) -> bool {
    argument.as_encoded_bytes().starts_with(prefix.as_bytes())
}

/// Becomes the command where the system can do that, else runs it.
fn execute(mut command: Command) -> ExitCode {
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

    fn rewritten(arguments: &str, instrumented: bool) -> String {
        let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
        let rewritten = rewrite(&arguments, Path::new("/d/libicb_std-1.rlib"), instrumented);
        rewritten.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn std_is_replaced_for_instrumented_packages() {
        assert_eq!(
            rewritten("--crate-name spin --target t --extern a=/x", true),
            "--crate-name spin --target t --extern a=/x --extern std=/d/libicb_std-1.rlib \
             --extern core=/d/libicb_std-1.rlib --extern alloc=/d/libicb_std-1.rlib -L dependency=/d"
        );
    }

    #[test]
    fn there_is_one_mirrored_library() {
        let arguments =
            "--target=t --extern icb_std=/y/a.rmeta --extern priv:icb_std=/y/b --extern my_icb_std=/z";
        assert_eq!(
            rewritten(arguments, false),
            "--target=t --extern icb_std=/d/libicb_std-1.rlib --extern priv:icb_std=/d/libicb_std-1.rlib \
             --extern my_icb_std=/z"
        );
    }

    #[test]
    fn what_runs_while_building_is_left_alone() {
        let arguments = "--crate-name build_script_build --extern icb_std=/y";
        assert_eq!(rewritten(arguments, true), arguments);
    }
}
