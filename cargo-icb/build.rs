//! Packs the sources of the mirrored library into the executable, so that an installed `cargo icb` has them wherever it
//! is called: crates that do not depend on icb are compiled against a copy that is built from these.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What is packed, relative to the root of the repository: files, and directories with everything below them.
const PACKED: [&str; 10] = [
    "Cargo.toml",
    "Cargo.lock",
    "icb-core/Cargo.toml",
    "icb-core/src",
    "icb-std/Cargo.toml",
    "icb-std/build.rs",
    "icb-std/src",
    "icb-std/harness",
    "icb-std/loom/src",
    "icb-std/shuttle/src",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).unwrap_or_default());
    let root = variable("CARGO_MANIFEST_DIR").join("..");
    let mut files = Vec::new();
    // A package taken out of the repository has nothing beside it; it says so when the sources are asked for.
    if root.join("icb-std/harness/Cargo.toml").exists() {
        for name in PACKED {
            println!("cargo::rerun-if-changed={}", root.join(name).display());
            collect(&root, Path::new(name), &mut files);
        }
    }
    files.sort();
    files.dedup();
    let mut list = String::from("&[\n");
    for file in files {
        let path = root.join(&file);
        let _ = writeln!(list, "    ({:?}, include_str!({path:?})),", file.to_string_lossy());
    }
    list.push(']');
    let target = variable("OUT_DIR").join("sources.rs");
    fs::write(&target, list).unwrap_or_else(|error| panic!("cannot write {}: {error}", target.display()));
}

fn collect(root: &Path, relative: &Path, files: &mut Vec<PathBuf>) {
    let path = root.join(relative);
    if !path.is_dir() {
        return files.push(relative.to_path_buf());
    }
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        if entry.file_name() != "target" {
            collect(root, &relative.join(entry.file_name()), files);
        }
    }
}
