//! The packages as they are published: made, built as cargo's users build them, and tried on a crate that has never heard of icb.

use crate::steps::{cargo, run, target};
use std::fs;
use std::path::Path;
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
    let selected: Vec<&str> = PUBLISHED.iter().flat_map(|name| ["--package", name]).collect();
    let arguments = [&["package", "--allow-dirty"][..], &selected].concat();
    run(cargo(root, &arguments))?;

    // Built once more, where nothing of the repository is in reach but the packages.
    let packages = target(root).join("package");
    let version = env!("CARGO_PKG_VERSION");
    let unpacked = |name: &str| packages.join(format!("{name}-{version}"));
    let built = target(root).join("packaged");
    let mut build = cargo(root, &["build"]);
    build
        .arg("--manifest-path")
        .arg(unpacked("cargo-icb").join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&built);
    build.args(["--config", &format!("patch.crates-io.icb-core.path={:?}", unpacked("icb-core"))]);
    run(build)?;

    let tried = target(root).join("tmp").join("tried");
    for (name, text) in TRIED {
        let path = tried.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&tried))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let mut test = Command::new(built.join("debug").join("cargo-icb"));
    test.args(["icb", "test", "--target-dir"]).arg(built.join("tried")).current_dir(&tried);
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
    let files = PUBLISHED.map(|name| format!("{name}-{version}.crate")).join(", ");
    Ok(format!("tried: {files} in {}", packages.display()))
}
