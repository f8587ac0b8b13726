//! The programs: what each says at its top, and the package that is made of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A program that uses a published crate.
pub(crate) struct Program {
    /// Name of its file.
    pub(crate) name: String,
    /// Blocks of dependencies, as in a manifest; a program about a bug has two, if it is gone in a later version.
    pub(crate) crates: Vec<String>,
    /// What the failure says, for a program about a bug.
    pub(crate) expected: String,
    /// What the later version fails with, if it has another bug at the same bound.
    pub(crate) left: String,
    /// Further options of the tool.
    pub(crate) options: String,
    text: String,
}

impl Program {
    /// All programs of a directory beside the sources, in order of their names.
    pub(crate) fn all(directory: &str) -> Vec<Program> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        let mut paths: Vec<PathBuf> =
            fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().filter_map(|path| Program::read(path)).collect()
    }

    fn read(path: &Path) -> Option<Program> {
        let text = fs::read_to_string(path).ok()?;
        let top: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let blocks = top.split(|line| line.starts_with("```"));
        let crates = blocks.skip(1).step_by(2).map(|block| block.join("\n")).collect();
        let says = |word: &str| {
            let line = top.iter().find_map(|line| line.strip_prefix(word)).unwrap_or_default();
            line.trim_end_matches('.').to_owned()
        };
        let (expected, left, options) = (says("Found: "), says("Left: "), says("Options: "));
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Some(Program { name, crates, expected, left, options, text })
    }

    /// The crate that a block is about: its name, and what is asked of its version.
    pub(crate) fn subject(&self, block: usize) -> (&str, &str) {
        let line = self.crates.get(block).and_then(|block| block.lines().next()).unwrap_or_default();
        let (name, rest) = line.split_once(" = ").unwrap_or((line, ""));
        (name, rest.split('"').nth(1).unwrap_or_default().trim_start_matches('='))
    }

    /// Makes a package of the program. A line `NAME VERSION CHECKSUM` after the dependencies, as a comment, locks a version
    /// that has been taken back: cargo still builds it for those who have it in a lock file.
    pub(crate) fn lay_out(&self, directory: &Path, name: &str, dependencies: &str) -> io::Result<PathBuf> {
        let name = format!("client-{}", name.replace(['_', '.'], "-"));
        let manifest = directory.join("Cargo.toml");
        fs::create_dir_all(directory.join("src"))?;
        write(
            &manifest,
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependencies}\n"
            ),
        )?;
        write(&directory.join("src/lib.rs"), &self.text)?;
        let lock = directory.join("Cargo.lock");
        if let Some(yanked) = dependencies.lines().find_map(|line| line.strip_prefix("# yanked: "))
            && !lock.exists()
            && let [package, version, checksum] = yanked.split_whitespace().collect::<Vec<_>>()[..]
        {
            let registry = "registry+https://github.com/rust-lang/crates.io-index";
            write(
                &lock,
                &format!(
                    "version = 4\n\n[[package]]\nname = \"{name}\"\nversion = \"0.0.0\"\ndependencies = [\"{package}\"]\n\n\
                     [[package]]\nname = \"{package}\"\nversion = \"{version}\"\nsource = \"{registry}\"\nchecksum = \"{checksum}\"\n"
                ),
            )?;
        }
        Ok(manifest)
    }
}

/// Writes a file whose time is kept if it says the same.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) { Ok(()) } else { fs::write(path, text) }
}
