//! The crates' own unit tests, as they are in the published packages.

use super::run::Bench;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates whose packages hold unit tests.
const CRATES: [(&str, &str, &str); 6] = [
    ("once_cell", "1.21.4", ""),
    ("crossbeam-epoch", "0.9.21", "--lib"),
    ("crossbeam-queue", "0.3.14", "--lib --tests"),
    ("crossbeam-utils", "0.8.23", "--lib --tests"),
    ("parking", "2.2.1", "--lib --tests"),
    ("triomphe", "0.1.17", "--lib"),
];

/// The table. Good if at least five crates ran and every test that failed did so with a reason.
pub(crate) fn table(bench: &Bench, wanted: impl Fn(&str) -> bool) -> bool {
    println!("| crate | proved | one thread | run once | incomplete | failed | executions | reasons |");
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    let mut ran = 0;
    let mut asked = 0;
    for (name, version, targets) in CRATES.into_iter().filter(|(name, ..)| wanted(name)) {
        asked += 1;
        let manifest = match package(bench, name, version) {
            Ok(manifest) => manifest,
            Err(error) => {
                println!("| {name} {version} | | | | | | | {error} |");
                continue;
            }
        };
        let arguments =
            format!("{targets} --max-bound 2 --max-test-time 5s --max-executions 20000 --watchdog 5");
        let said = bench.test(&format!("own-{name}"), &manifest, &arguments);
        let count = |word: &str| said.summary().filter(|line| line.starts_with(word)).count();
        let listed = |word: &str| {
            let lists = said.summary().filter_map(|line| line.strip_prefix(word));
            lists.filter(|list| !list.contains(": ")).map(|list| list.split(", ").count()).sum::<usize>()
        };
        let reasoned =
            said.summary().filter(|line| line.starts_with("run once ") && line.contains(": ")).count();
        let mut reasons: Vec<String> = said
            .summary()
            .filter(|line| {
                line.starts_with("FAILED ") || (line.starts_with("run once ") && line.contains(": "))
            })
            .filter_map(|line| line.split_once(": ").map(|(_, why)| why.chars().take(60).collect()))
            .collect();
        reasons.sort();
        reasons.dedup();
        let (proved, one) = (count("proved "), listed("one thread "));
        ran += usize::from(proved + one > 0);
        println!(
            "| {name} {version} | {proved} | {one} | {} | {} | {} | {} | {} |",
            listed("run once ") + reasoned,
            count("incomplete "),
            count("FAILED "),
            said.executions(),
            reasons.join("; ").replace('|', "/"),
        );
    }
    ran >= asked.min(5)
}

/// A copy of the published package.
fn package(bench: &Bench, name: &str, version: &str) -> Result<PathBuf, String> {
    let copy = bench.directory.join("packages").join(format!("{name}-{version}"));
    let manifest = copy.join("Cargo.toml");
    if manifest.exists() {
        return Ok(manifest);
    }
    // A package that depends on it makes cargo fetch it.
    let asking = bench.directory.join("packages").join("fetch");
    let text = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{name} = \"={version}\"\n"
    );
    let made =
        fs::create_dir_all(asking.join("src")).and_then(|()| fs::write(asking.join("Cargo.toml"), text));
    made.and_then(|()| fs::write(asking.join("src/lib.rs"), "")).map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(asking.join("Cargo.toml"));
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let place = format!("/{name}-{version}/Cargo.toml\"");
    let end = text.find(&place).ok_or("cargo has not fetched it")? + place.len() - 1;
    let start = text[..end].rfind('"').map_or(0, |at| at + 1);
    let source = Path::new(&text[start..end]).parent().ok_or("no directory")?.to_path_buf();
    copy_all(&source, &copy).map_err(|error| error.to_string())?;
    Ok(manifest)
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &target)?;
        } else if entry.file_name() != "Cargo.lock" {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
