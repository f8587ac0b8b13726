//! The packages as they are published: made, built as cargo's users build them, and tried on a crate that has never heard of icb.
//!
//! What cargo packs it tries with the other packages from a registry of its own in the target directory. Cargo takes a package of a
//! registry for what never changes under one version: it neither unpacks nor compiles it again where that has been done before. So all of this
//! begins in an empty directory, and without the copies that have been unpacked in cargo's home.

use crate::steps::{cargo, run, target};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Those that are published, dependencies first.
const PUBLISHED: [&str; 3] = ["icb-core", "icb-std", "cargo-icb"];

/// A crate with a lost update.
const TRIED: [(&str, &str); 2] = [
    ("Cargo.toml", "[package]\nname = \"tried\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n"),
    (
        "src/lib.rs",
        "#[test]\nfn counts() {\n    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};\n    static COUNT: AtomicU32 = AtomicU32::new(0);\n    \
         let add = || COUNT.store(COUNT.load(SeqCst) + 1, SeqCst);\n    let other = std::thread::spawn(add);\n    add();\n    \
         other.join().unwrap();\n    assert_eq!(COUNT.load(SeqCst), 2);\n}\n",
    ),
];

/// Makes them, and tries them: says where they are.
pub(crate) fn package(root: &Path) -> Result<String, String> {
    let mut pack = cargo(root, &["build", "--package", "cargo-icb"]);
    pack.env("ICB_PACK", "1");
    run(pack)?;
    let directory = target(root).join("packaging");
    remove(&directory)?;
    forget_unpacked(&sources_of_registries())?;
    let selected: Vec<&str> = PUBLISHED.iter().flat_map(|name| ["--package", name]).collect();
    let arguments = [&["package", "--allow-dirty"][..], &selected].concat();
    let mut package = cargo(root, &arguments);
    package.arg("--target-dir").arg(&directory);
    let packaged = run(package);
    forget_unpacked(&sources_of_registries())?;
    packaged?;

    // Built once more, where nothing of the repository is in reach but the packages.
    let packages = directory.join("package");
    let unpacked = |name: &str| packages.join(with_version(name));
    let built = directory.join("built");
    let mut build = cargo(root, &["build"]);
    build
        .arg("--manifest-path")
        .arg(unpacked("cargo-icb").join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&built);
    build.args(["--config", &format!("patch.crates-io.icb-core.path={:?}", unpacked("icb-core"))]);
    run(build)?;

    let tried = directory.join("tried");
    for (name, text) in TRIED {
        let path = tried.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&tried))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let mut test = Command::new(built.join("debug").join("cargo-icb"));
    test.args(["icb", "test", "--target-dir"]).arg(built.join("tried")).current_dir(&tried);
    test.env("ICB_CACHE_DIR", built.join("icb-cache"));
    for name in ["RUSTC_BOOTSTRAP", "CARGO", "ICB_PACK"] {
        test.env_remove(name);
    }
    let output = test.output().map_err(|error| format!("cannot run the packaged cargo-icb: {error}"))?;
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(1) || !said.contains("1 preemption") {
        return Err(format!(
            "the packaged cargo-icb does not find the lost update ({}):\n{said}",
            output.status
        ));
    }
    let files = PUBLISHED.map(|name| with_version(name) + ".crate").join(", ");
    Ok(format!("tried: {files} in {}", packages.display()))
}

fn with_version(name: &str) -> String {
    format!("{name}-{}", env!("CARGO_PKG_VERSION"))
}

/// Where cargo unpacks the packages of registries: a directory for each registry.
fn sources_of_registries() -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from).join("registry").join("src")
}

/// Removes what has been unpacked from registries that hold our packages and nothing else, on this machine: what stands before the `-` is the
/// host. Such a registry is one that cargo has made to pack; others would hold what ours depend on.
fn forget_unpacked(sources: &Path) -> Result<(), String> {
    let is_version = |text: &str| {
        text.strip_prefix('-').is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_ours =
        |name: &String| PUBLISHED.iter().any(|ours| name.strip_prefix(ours).is_some_and(is_version));
    for registry in names_in(sources).iter().filter(|name| name.starts_with('-')) {
        let registry = sources.join(registry);
        let unpacked = names_in(&registry);
        if unpacked.iter().all(is_ours) {
            unpacked.iter().try_for_each(|name| remove(&registry.join(name)))?;
        }
    }
    Ok(())
}

/// What is in a directory; nothing if there is none.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn remove(directory: &Path) -> Result<(), String> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", directory.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_copies_from_a_registry_of_our_packages_alone_go() {
        let sources = std::env::temp_dir().join(format!("icb-ci-sources-{}", std::process::id()));
        let core = with_version("icb-core");
        let copies = ["-1/", "-2/", "index.crates.io-3/"].map(|registry| format!("{registry}{core}/src"));
        for path in copies.iter().map(String::as_str).chain(["-1/icb-std-0.0.0", "-2/icb-std-sister-1.0.0"]) {
            fs::create_dir_all(sources.join(path)).unwrap();
        }
        let there = || copies.each_ref().map(|copy| sources.join(copy).exists());
        forget_unpacked(&sources).unwrap();
        assert_eq!(there(), [false, true, true]);
        remove(&sources).unwrap();
        forget_unpacked(&sources).unwrap();
    }
}
