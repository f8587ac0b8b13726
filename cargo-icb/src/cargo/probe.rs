//! Whether the compiler can report accesses to plain memory: a few lines are compiled with the flags, and the object
//! is looked at. The names of the compiler's passes are no part of what Rust promises. The answer is kept for each toolchain,
//! and with it the hooks for programs without the mirrored library.

use super::build::{Recipe, rustc_version};
use super::metadata::Workspace;
use crate::exit_code::Error;
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The flags: LLVM's instrumentation pass for the thread sanitizer, whose hooks the mirrored library defines. It runs before the optimiser, which would delete accesses, and widen
/// some beyond what the pass knows.
/// In one unit, so that small functions of `std` are inlined in every profile: where such a function is called last, and jumped
/// to, nothing tells who has called it.
const FLAGS: [&str; 4] = [
    "-Ccodegen-units=1",
    "-Cno-prepopulate-passes",
    "-Cpasses=forceattrs,function(mem2reg),tsan-module,function(tsan),default<O2>",
    "-Cllvm-args=-force-attribute=sanitize_thread -tsan-instrument-read-before-write=1 -tsan-instrument-func-entry-exit=0",
];
/// One flag more: atomics are left out, because the mirrored types report them; or they are told of, where a crate is on the real `std`.
const ATOMICS: [&str; 2] =
    ["-Cllvm-args=-tsan-instrument-atomics=0", "-Cllvm-args=-tsan-instrument-atomics=1"];

/// The flags of a crate, which is compiled against the mirrored `std` or on the real one.
pub(super) fn flags(mirrored: bool) -> Vec<&'static str> {
    let atomics = if mirrored { ATOMICS[0] } else { ATOMICS[1] };
    [&FLAGS[..], &[atomics]].concat()
}

/// What a build with the flags depends on.
pub(super) fn ways() -> impl Hash {
    (FLAGS, ATOMICS, WITHOUT_RUNTIME)
}

/// Processors for which there are hooks.
const PROCESSORS: [&str; 2] = ["x86_64", "aarch64"];

/// A load, a store, a copy and an atomic operation.
const PROGRAM: &str = "#![no_std]
use core::sync::atomic::{AtomicU32, Ordering};
#[unsafe(no_mangle)]
pub unsafe fn icb_probe(at: *mut u32, from: *const [u64; 8], to: *mut [u64; 8], atomic: &AtomicU32) {
    unsafe { *at += 1; *to = *from; }
    atomic.fetch_add(1, Ordering::Release);
}
";
/// What they have to call, and what they must not; and what only one of the two manners calls.
const CALLED: [&str; 3] = ["__tsan_read4", "__tsan_write4", "__tsan_memcpy"];
const NOT_CALLED: [&str; 1] = ["__tsan_func_entry"];
const ATOMIC: &str = "__tsan_atomic32_fetch_add";

/// The hooks of programs in which nothing names the mirrored library.
pub(super) const WITHOUT_RUNTIME: &str = include_str!("probe/without_runtime.rs");

/// What is remembered of a toolchain.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    key: String,
    failure: Option<String>,
}

/// Why accesses cannot be reported for a target, whatever the toolchain; `None` if they may.
pub(super) fn lacking_for(triple: &str) -> Option<String> {
    if !PROCESSORS.iter().any(|processor| triple.starts_with(processor)) {
        return Some(format!("there are hooks for {} only, not for {triple}", PROCESSORS.join(" and ")));
    }
    // The runtime tells what is `std`'s own, and no thread's of an execution, by what the loader says on Linux.
    (!triple.contains("-linux-"))
        .then(|| format!("accesses are told from those of `std` itself on Linux only, not for {triple}"))
}

/// Why accesses cannot be reported in a build; `None` if they can.
pub(super) fn failure(workspace: &Workspace, recipe: &Recipe<'_>) -> Result<Option<String>, Error> {
    let triple = &recipe.triple;
    if let Some(reason) = lacking_for(triple) {
        return Ok(Some(reason));
    }
    let version = rustc_version()?;
    let mut hasher = DefaultHasher::new();
    (&version, triple, ways(), PROGRAM).hash(&mut hasher);
    let key = format!("{:016x}", hasher.finish());
    let library = hooks(workspace, triple);
    let record = library.with_extension("json");
    let known = fs::read_to_string(&record).ok().and_then(|text| serde_json::from_str::<Answer>(&text).ok());
    if let Some(known) =
        known.filter(|known| known.key == key && (known.failure.is_some() || library.exists()))
    {
        return Ok(known.failure);
    }
    let directory = tempfile::tempdir().map_err(|error| {
        Error::Usage(format!(
            "there is no temporary directory: {error}; set TMPDIR to one that can be written to"
        ))
    })?;
    let object = directory.path().join("probe.o");
    let compiled = compile(triple, &object).and_then(|()| {
        rustc(triple, WITHOUT_RUNTIME, &["--crate-name=icb_hooks", "--crate-type=rlib"], &library)
    });
    let failure = compiled.err().map(|reason| {
        let name = version.lines().next().unwrap_or("the compiler");
        format!("{name} cannot report accesses for {triple}: {reason}")
    });
    let answer = Answer { key, failure };
    // What cannot be kept is found out again the next time.
    let _ = serde_json::to_string(&answer).map(|text| fs::write(&record, text));
    Ok(answer.failure)
}

/// The library of hooks that do nothing, where [`failure`] has found none.
pub(super) fn hooks(workspace: &Workspace, triple: &str) -> PathBuf {
    workspace.directory.join(format!("accesses-{triple}.a"))
}

/// Compiles the program; an error is the reason for which that does not do.
fn compile(triple: &str, object: &Path) -> Result<(), String> {
    let kind = ["--crate-name=icb_probe", "--crate-type=lib", "--emit=obj"];
    [true, false].into_iter().try_for_each(|mirrored| {
        rustc(triple, PROGRAM, &[&kind[..], &flags(mirrored)].concat(), object)?;
        judge(&fs::read(object).map_err(|error| error.to_string())?, mirrored)
    })
}

/// Runs the compiler.
fn rustc(triple: &str, program: &str, arguments: &[&str], made: &Path) -> Result<(), String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["-", "--edition=2024", "-Copt-level=2", "-Cpanic=abort", "-Ccodegen-units=1"]);
    command.args(["--target", triple]).args(arguments).arg("-o").arg(made);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    // If it does not read this, it says why.
    let _ = child.stdin.take().map(|mut input| input.write_all(program.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(());
    }
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    Err(lines.next().unwrap_or("it gives no reason").to_owned())
}

/// Whether an object calls the hooks, and no others.
fn judge(object: &[u8], mirrored: bool) -> Result<(), String> {
    let calls = |name: &str| object.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    let (mut called, mut not_called) = (CALLED.to_vec(), NOT_CALLED.to_vec());
    if mirrored { &mut not_called } else { &mut called }.push(ATOMIC);
    if let Some(missing) = called.into_iter().find(|name| !calls(name)) {
        return Err(format!("it does not call {missing}"));
    }
    match not_called.into_iter().find(|name| calls(name)) {
        Some(name) => Err(format!("it calls {name}, which it was told not to")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_compiler_reports_accesses_and_others_say_why_not() {
        let directory = tempfile::tempdir().unwrap();
        let object = directory.path().join("a.o");
        let triple = super::super::build::host().unwrap();
        if PROCESSORS.iter().any(|processor| triple.starts_with(processor)) {
            assert_eq!(compile(&triple, &object), Ok(()));
        }
        let reason = compile("nowhere-unknown-none", &object).unwrap_err();
        assert!(reason.contains("nowhere-unknown-none"), "{reason}");
    }

    #[test]
    fn there_is_a_hook_that_does_nothing_for_each_that_does_something() {
        let hooks = include_str!("../../../icb-core/src/runtime/hooks.rs");
        let names = |text: &str| {
            let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
            let mut names: Vec<String> =
                words.filter(|word| word.starts_with("__tsan_")).map(str::to_owned).collect();
            names.sort();
            names.dedup();
            names
        };
        assert_eq!(names(WITHOUT_RUNTIME), names(hooks));
    }

    #[test]
    fn an_object_that_does_not_do_is_told() {
        assert_eq!(judge(b"__tsan_read4", true), Err("it does not call __tsan_write4".to_owned()));
        let whole = b"__tsan_read4 __tsan_write4 __tsan_memcpy";
        assert_eq!(judge(whole, true), Ok(()));
        assert_eq!(judge(whole, false), Err("it does not call __tsan_atomic32_fetch_add".to_owned()));
        let atomics = [&whole[..], b"__tsan_atomic32_fetch_add"].concat();
        assert_eq!(judge(&atomics, false), Ok(()));
        for more in ["__tsan_func_entry", "__tsan_atomic32_fetch_add"] {
            let told = [&whole[..], more.as_bytes()].concat();
            assert_eq!(judge(&told, true), Err(format!("it calls {more}, which it was told not to")));
        }
    }
}
