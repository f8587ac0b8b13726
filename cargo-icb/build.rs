//! Packs the sources of the mirrored library into the executable, so that an installed `cargo icb` has them wherever it
//! is called: crates that do not depend on icb are compiled against a copy that is built from these.
//!
//! A published package has nothing beside it, and brings the sources in one file, which `cargo run -p ci -- package` has this
//! script write (`ICB_PACK`).

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What is packed, relative to the root of the repository: files, and directories with everything below them.
const PACKED: [&str; 11] = [
    "Cargo.toml",
    "Cargo.lock",
    "icb-core/Cargo.toml",
    "icb-core/src",
    "icb-std/Cargo.toml",
    "icb-std/build.rs",
    "icb-std/probe.rs",
    "icb-std/src",
    "icb-std/harness",
    "icb-std/loom/src",
    "icb-std/shuttle/src",
];

/// The packed sources as a published package brings them: the literal that `facade` includes.
const PUBLISHED: &str = "packed.txt";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ICB_PACK");
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).unwrap_or_default());
    let package = variable("CARGO_MANIFEST_DIR");
    let target = variable("OUT_DIR").join("sources.rs");
    let root = package.join("..");
    if !root.join("icb-std/harness/Cargo.toml").exists() {
        // Without the file as well it says so when the sources are asked for.
        let packed = fs::read_to_string(package.join(PUBLISHED)).unwrap_or_else(|_| "&[]".to_owned());
        return write(&target, &packed);
    }
    let mut files = Vec::new();
    for name in PACKED {
        println!("cargo::rerun-if-changed={}", root.join(name).display());
        collect(&root, Path::new(name), &mut files);
    }
    files.sort();
    files.dedup();
    let list = |text: &dyn Fn(&Path) -> String| {
        let mut list = String::from("&[\n");
        for file in &files {
            let _ = writeln!(list, "    ({:?}, {}),", file.to_string_lossy(), text(&root.join(file)));
        }
        list + "]\n"
    };
    write(&target, &list(&|path| format!("include_str!({path:?})")));
    if std::env::var_os("ICB_PACK").is_some() {
        let text = |path: &Path| {
            fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
        };
        write(&package.join(PUBLISHED), &list(&|path| format!("{:?}", text(path))));
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
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
