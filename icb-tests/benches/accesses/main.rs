//! What checking every access to plain memory costs: `cargo bench -p icb-tests --bench accesses`.
//!
//! The programs of the suite (`compare/world.rs`), larger, and some that do little but access memory (`raw.rs`) are compiled
//! against std, as a crate that knows nothing of icb, and explored by the tool with `--no-accesses` and with `--accesses`, in
//! turns, with the default search and scheduling points at synchronization. Then the time that the tool takes to build a
//! crate of several published ones from nothing, both ways; the mirrored std is there already.
//!
//! Exits with an error if exploring takes more than three times the time, in the geometric mean, or building more than twice.
//! Arguments: `--quick` (one round), and names of programs (parts of) to run only those.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// How much longer exploring and building may take.
const LIMITS: (f64, f64) = (3.0, 2.0);
/// Explorations shorter than this say nothing, in seconds.
const SHORTEST: f64 = 0.1;
const EXPLORE: [&str; 8] =
    ["--max-bound", "6", "--max-executions", "20000", "--max-test-time", "20s", "--jobs", "1"];
const WAYS: [&str; 2] = ["--no-accesses", "--accesses"];

/// Calls of the programs.
const PROGRAMS: [&str; 12] = [
    "suite::counter_racy(3, 2)",
    "suite::mutex_counter(3, 3)",
    "suite::wsq(3)",
    "suite::prodcons(2, 2, 1)",
    "suite::treiber(3)",
    "suite::dining_ok(4)",
    "suite::rwlock_mix(3, 2)",
    "suite::long(75)",
    "suite::relay(16)",
    "raw::ring(4)",
    "raw::ring(8)",
    "raw::table(64)",
];

/// Published crates, in the versions that this workspace has: what is built.
const BUILT: &str = "hashbrown = \"*\"\nindexmap = \"*\"\nlock_api = \"*\"\nparking_lot = \"*\"\nregex = \"*\"\n\
                     sharded-slab = \"*\"\nslab = \"*\"\nsmallvec = \"*\"\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("accesses")
}

/// The tool, built if need be.
fn tool() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target directory");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--release", "--package", "cargo-icb", "--target-dir"]).arg(target);
    assert!(build.current_dir(root()).status().expect("cargo").success(), "cargo-icb could not be built");
    target.join("release").join("cargo-icb").with_extension(std::env::consts::EXE_EXTENSION)
}

/// A package that holds this.
fn package(name: &str, dependencies: &str, library: &str) -> PathBuf {
    let package = directory().join(name);
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependencies}"
    );
    let write = |path: &str, text: &str| {
        let path = package.join(path);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
            std::fs::write(&path, text).expect("the target directory can be written to");
        }
    };
    std::fs::create_dir_all(package.join("src")).expect("the target directory can be written to");
    write("Cargo.toml", &manifest);
    write("src/lib.rs", library);
    // The versions that are there, so that little has to be fetched.
    std::fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock")).expect("a lock file");
    package.join("Cargo.toml")
}

/// Runs the tool on a package; what it has said on its output.
fn icb(tool: &Path, manifest: &Path, subcommand: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(tool);
    command.args([subcommand, "--manifest-path"]).arg(manifest);
    command.arg("--target-dir").arg(directory().join("target")).args(arguments);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("ICB_") || text.starts_with("CARGO_") || text == "RUSTC_BOOTSTRAP" {
            command.env_remove(&name);
        }
    }
    command.env("ICB_CACHE_DIR", directory().join("icb-cache"));
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        command.env("CARGO_HOME", home);
    }
    let output = command.output().expect("the tool can be run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 5)), "{subcommand} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Executions and seconds of each test, over all bounds.
fn explore(tool: &Path, manifest: &Path, way: &str, filter: &str) -> BTreeMap<String, (u64, f64)> {
    let arguments = [&EXPLORE[..], &[way, "--exact", filter, "--message-format", "json"]].concat();
    let said = icb(tool, manifest, "test", &arguments);
    let mut tests = BTreeMap::new();
    for line in said.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        if let (Some(test), Some(executions)) =
            (line["test"].as_str(), line["figures"]["executions"].as_u64())
            && line["verdict"].is_object() | line["verdict"].is_string()
        {
            let entry = tests.entry(test.to_owned()).or_insert((0, 0.0));
            let given_up = line["figures"]["given_up"].as_u64().unwrap_or(0);
            let seconds = line["figures"]["seconds"].as_f64().unwrap_or(0.0);
            *entry = (entry.0 + executions + given_up, entry.1 + seconds);
        }
    }
    tests
}

/// The ratios of exploring.
fn explorations(tool: &Path, wanted: &dyn Fn(&str) -> bool, rounds: usize) -> Vec<f64> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let module = |name: &str, path: &str| format!("#[path = {:?}]\nmod {name};\n", sources.join(path));
    let mut library = "#![allow(dead_code)]\n#[macro_use]\n".to_owned();
    library += &module("world", "compare/world.rs");
    library += &module("raw", "accesses/raw.rs");
    library += "world!(suite, std, crate::world::Unchecked<usize>, false);\n";
    for (index, call) in PROGRAMS.iter().enumerate() {
        library += &format!("#[test]\nfn p{index}() {{\n    {call};\n}}\n");
    }
    let manifest = package("explored", "", &library);
    println!("| program | executions | without, s | with, s | ratio |\n|---|---:|---:|---:|---:|");
    let mut ratios = Vec::new();
    for (index, call) in PROGRAMS.iter().enumerate().filter(|(_, call)| wanted(call)) {
        let mut best = [(0, f64::INFINITY); 2];
        for _ in 0..rounds {
            for (way, best) in WAYS.into_iter().zip(&mut best) {
                let tests = explore(tool, &manifest, way, &format!("p{index}"));
                for (executions, seconds) in tests.into_values() {
                    *best = (executions, seconds.min(best.1));
                }
            }
        }
        let [(executions, without), (more, with)] = best;
        assert_eq!(executions, more, "{call}: an access that is no scheduling point changes no search");
        let ratio = with / without;
        let long = without >= SHORTEST;
        if long {
            ratios.push(ratio);
        }
        let told = if long { format!("{ratio:.2}") } else { "too short".to_owned() };
        println!("| `{call}` | {executions} | {without:.2} | {with:.2} | {told} |");
    }
    ratios
}

/// How many times the time of building.
fn builds(tool: &Path, rounds: usize) -> f64 {
    let manifest = package("built", BUILT, "#[test]\nfn nothing() {}\n");
    let build = |way: &str| {
        let built = directory().join("target").join("icb").join("zero");
        if let Err(error) = std::fs::remove_dir_all(&built) {
            eprintln!("{}: {error}", built.display());
        }
        let began = Instant::now();
        icb(tool, &manifest, "list", &[way]);
        began.elapsed().as_secs_f64()
    };
    icb(tool, &manifest, "list", &[WAYS[0]]);
    let mut best = [f64::INFINITY; 2];
    for _ in 0..rounds {
        for (way, best) in WAYS.into_iter().zip(&mut best) {
            *best = best.min(build(way));
        }
    }
    println!("\nbuilding {} crates: {:.1} s without, {:.1} s with", BUILT.lines().count(), best[0], best[1]);
    best[1] / best[0]
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|a| a == "--bench") {
        return ExitCode::SUCCESS; // `cargo test --all-targets` only wants to see it compile.
    }
    let rounds = if arguments.iter().any(|a| a == "--quick") { 1 } else { 3 };
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let tool = tool();
    let wanted = |call: &str| names.is_empty() || names.iter().any(|part| call.contains(part.as_str()));
    let ratios = explorations(&tool, &wanted, rounds);
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let building = builds(&tool, rounds.min(2));
    println!(
        "\nexploring: {mean:.2} times the time ({} programs, {most:.2} at most); building: {building:.2} times",
        ratios.len()
    );
    if mean <= LIMITS.0 && building <= LIMITS.1 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
