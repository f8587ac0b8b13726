//! What no compiler checks: the layers of `icb-core`, who may name which crate, what lies at the top of the repository,
//! and that every file says at its top what it is.

use crate::layers::{Layers, without_comments};
use std::fs;
use std::path::{Path, PathBuf};

/// What may lie at the top of the repository, besides what git ignores.
const TOP: [&str; 18] = [
    ".cargo",
    ".ci",
    ".git",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "cargo-icb",
    "ci",
    "icb-core",
    "icb-std",
    "icb-tests",
    "rustfmt.toml",
];

/// Where a name may stand: the name, the directory it is confined within, and the place that may use it.
const CONFINED: [(&str, &str, &str); 3] = [
    ("corosensei", "icb-core/src", "icb-core/src/runtime/coroutine"),
    ("console", "cargo-icb/src", "cargo-icb/src/report"),
    ("similar", "cargo-icb/src", "cargo-icb/src/report"),
];

/// Files that may name a confined crate all the same: `main` switches colours on and off.
const EXCEPTIONS: [(&str, &str); 1] = [("console", "cargo-icb/src/main.rs")];

/// The crates of the workspace.
const CRATES: [&str; 5] = ["icb-core", "icb-std", "cargo-icb", "icb-tests", "ci"];

/// Checks everything; the error has a line for each thing that is wrong.
pub(crate) fn run(root: &Path) -> Result<String, String> {
    let mut wrong = Vec::new();
    let mut files = Vec::new();
    top_level(root, &mut wrong);
    manifests(root, &mut wrong);
    for name in CRATES {
        sources(&root.join(name), &mut files);
    }
    files.sort();
    let lib = fs::read_to_string(root.join("icb-core/src/lib.rs")).unwrap_or_default();
    let layers = Layers::parse(&lib).map_err(|error| format!("icb-core/src/lib.rs: {error}"))?;
    for path in &files {
        let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        match fs::read_to_string(path) {
            Ok(source) => wrong
                .extend(file(&relative, &source, &layers).iter().map(|what| format!("{relative}: {what}"))),
            Err(error) => wrong.push(format!("{relative}: {error}")),
        }
    }
    if wrong.is_empty() {
        return Ok(format!("{} files", files.len()));
    }
    Err(format!("{} things are not as they should be\n{}", wrong.len(), wrong.join("\n")))
}

/// Checks one source file.
fn file(path: &str, source: &str, layers: &Layers) -> Vec<String> {
    let mut wrong = Vec::new();
    if !source.starts_with("//!") {
        wrong.push("does not open with `//!`: what it owns and what it must not know".to_owned());
    }
    if let Some(module) = module_of_core(path) {
        wrong.extend(layers.violations(module, source));
    }
    let code = without_comments(source);
    for (name, within, allowed) in CONFINED {
        let excepted = EXCEPTIONS.iter().any(|(other, file)| *other == name && *file == path);
        if path.starts_with(within) && !path.starts_with(allowed) && !excepted && names_crate(&code, name) {
            wrong.push(format!("names the crate `{name}`, which only {allowed} may"));
        }
    }
    if path.starts_with("cargo-icb/src") {
        let uses = code.match_indices("icb_core").map(|(at, word)| &code[at + word.len()..]);
        if uses.into_iter().any(|rest| !rest.starts_with("::trace")) {
            wrong.push("uses more of `icb_core` than `icb_core::trace`".to_owned());
        }
    }
    wrong
}

/// The layer that a file of `icb-core` belongs to; none for the root.
fn module_of_core(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("icb-core/src/")?;
    let module = inside.split('/').next()?;
    (module != "lib.rs").then(|| module.trim_end_matches(".rs"))
}

/// Whether code names an external crate: `use NAME`, `NAME::` or `extern crate NAME`, but not `crate::NAME`.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let separate = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let outside = !before.ends_with("::") || (before.ends_with(" ::") || before.ends_with("(::"));
        let is_import = before.ends_with("use ") || before.ends_with("extern crate ");
        let is_path = after.starts_with("::") && !is_module_of_its_own(code, name);
        separate && outside && (is_path || (is_import && after.starts_with([';', ':', ' '])))
    })
}

/// Whether a file has a module of this name in sight, which then is meant.
fn is_module_of_its_own(code: &str, name: &str) -> bool {
    ["use super::", "use crate::", "use self::"].iter().any(|prefix| {
        let mut imports =
            code.match_indices(prefix).map(|(at, _)| code[at..].split(';').next().unwrap_or_default());
        imports.any(|import| {
            let mut words = import.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            words.any(|word| word == name)
        })
    }) || code.contains(&format!("mod {name};"))
}

fn top_level(root: &Path, wrong: &mut Vec<String>) {
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ignored = ignored.lines().any(|line| line.trim_matches('/') == name);
        if !TOP.contains(&name.as_str()) && !is_ignored {
            wrong.push(format!("{name}: does not belong at the top of the repository"));
        }
    }
    for name in TOP.iter().filter(|name| !name.starts_with(".git") && !root.join(name).exists()) {
        wrong.push(format!("{name}: is missing"));
    }
}

/// Every crate takes over the lints of the workspace, and they refuse unsafe blocks without a SAFETY line.
fn manifests(root: &Path, wrong: &mut Vec<String>) {
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    for name in CRATES {
        if !read(&root.join(name).join("Cargo.toml")).contains("[lints]\nworkspace = true") {
            wrong.push(format!("{name}/Cargo.toml: does not take over the lints of the workspace"));
        }
    }
    if !read(&root.join("Cargo.toml")).contains("undocumented_unsafe_blocks = ") {
        wrong.push("Cargo.toml: the lint `undocumented_unsafe_blocks` is off".to_owned());
    }
}

fn sources(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "target" {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, source: &str) -> Vec<String> {
        let lib = "//! ```text\n//! search\n//! trace\n//! ```\npub mod search;\npub mod trace;\n";
        file(path, source, &Layers::parse(lib).unwrap())
    }

    #[test]
    fn good_files_pass() {
        for (path, source) in [
            ("icb-core/src/search/mod.rs", "//! x\nuse crate::trace::Schedule;\n"),
            ("icb-core/src/runtime/coroutine.rs", "//! x\nuse corosensei::Coroutine;\n"),
            ("icb-core/src/search/a.rs", "//! x\nuse super::corosensei;\nfn f() { corosensei::next(); }\n"),
            ("cargo-icb/src/report/plain.rs", "//! x\nuse console::style;\n"),
            (
                "cargo-icb/src/store.rs",
                "//! x\nuse icb_core::trace::Schedule;\nuse crate::report::console::Console;\n",
            ),
        ] {
            assert_eq!(check(path, source), [""; 0], "{path}");
        }
    }

    #[test]
    fn bad_files_are_named() {
        for (path, source, word) in [
            ("icb-core/src/trace/id.rs", "//! x\nuse crate::search::Replay;\n", "must not import"),
            ("icb-core/src/search/a.rs", "//! x\nuse corosensei::Coroutine;\n", "`corosensei`"),
            ("icb-core/src/search/a.rs", "//! x\nfn f() { ::corosensei::done!() }\n", "`corosensei`"),
            ("cargo-icb/src/store.rs", "//! x\nuse console::style;\n", "`console`"),
            (
                "cargo-icb/src/store.rs",
                "//! x\nfn f() { icb_core::runtime::choose(1); }\n",
                "icb_core::trace",
            ),
            ("icb-std/src/cell.rs", "use std::cell;\n", "`//!`"),
        ] {
            let found = check(path, source);
            assert!(found.len() == 1 && found[0].contains(word), "{path}: {found:?}");
        }
    }
}
