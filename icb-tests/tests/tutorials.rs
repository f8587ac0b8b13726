//! The tutorials in `icb-std/tutorials`, run as they stand: files are written, commands run, and what they are said to print is
//! looked for.
//!
//! In a tutorial a block `file=PATH` is a file of the reader's crate; with `replace` it holds, on both sides of a line `---`,
//! what is replaced in that file and by what. A block `console` is one command behind `$`, and below it pieces of its
//! output, each on a line; `exit=N` is its exit code, else 0.

use icb_tests::tool;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fenced block: its words after the language, and its lines.
struct Block<'a> {
    language: &'a str,
    words: Vec<&'a str>,
    text: String,
}

impl Block<'_> {
    fn word(&self, name: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

fn blocks(tutorial: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for line in tutorial.lines() {
        if let Some(words) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                let mut words = words.split(' ');
                let language = words.next().unwrap_or_default();
                blocks.push(Block { language, words: words.collect(), text: String::new() });
            }
        } else if let (true, Some(block)) = (inside, blocks.last_mut()) {
            block.text += line;
            block.text.push('\n');
        }
    }
    blocks
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Where all tutorials build: that of the tool's own tests, so that the mirrored library is built once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
}

/// Runs one command of a tutorial: its exit code and everything it has printed.
fn run(line: &str, directory: &Path) -> (i32, String) {
    let words: Vec<&str> = line.split(' ').collect();
    let (mut command, rest) = match words.as_slice() {
        ["cargo", "icb", rest @ ..] => (Command::new(tool::built(env!("CARGO_TARGET_TMPDIR"))), rest),
        ["cargo", rest @ ..] => (Command::new(env!("CARGO")), rest),
        _ => panic!("`{line}` is no command that a tutorial may use"),
    };
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("ICB_") || text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    let output = command
        .args(&rest[..1])
        .arg("--target-dir")
        .arg(target())
        .args(&rest[1..])
        .current_dir(directory)
        .env("CARGO_NET_OFFLINE", "true")
        .env("ICB_CACHE_DIR", tool::cache(env!("CARGO_TARGET_TMPDIR")))
        .env("COLUMNS", "120")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text.into_owned())
}

#[track_caller]
fn follow(name: &str) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorials").join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    // The versions that are there, so that nothing has to be fetched.
    std::fs::copy(root().join("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
    let tutorial =
        std::fs::read_to_string(root().join("icb-std/tutorials").join(name).with_extension("md")).unwrap();
    let mut command_count = 0;
    for block in blocks(&tutorial) {
        if let Some(file) = block.word("file") {
            let path = directory.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = if block.words.contains(&"replace") {
                let (old, new) = block.text.split_once("---\n").expect("two sides");
                let before = std::fs::read_to_string(&path).unwrap();
                assert!(before.contains(old), "{name}: {file} does not hold\n{old}");
                before.replace(old, new)
            } else {
                block.text.replace("../icb/icb-std", root().join("icb-std").to_str().unwrap())
            };
            // Not a member of the workspace above.
            let text = if file == "Cargo.toml" { text + "\n[workspace]\n" } else { text };
            std::fs::write(path, text).unwrap();
        } else if block.language == "console" {
            let mut lines = block.text.lines();
            let line = lines.next().and_then(|line| line.strip_prefix("$ ")).expect("a command");
            let (code, said) = run(line, &directory);
            for expected in lines {
                assert!(said.contains(expected), "{name}: `{line}` does not print {expected:?} but\n{said}");
            }
            let wanted: i32 = block.word("exit").map_or(0, |code| code.parse().unwrap());
            assert_eq!(code, wanted, "{name}: `{line}` prints\n{said}");
            command_count += 1;
        }
    }
    assert!(command_count > 0, "{name} has no commands");
}

/// One after another: they share a directory to build in.
#[test]
fn the_tutorials_do_what_they_say() {
    for name in ["opt-in", "zero-change", "models"] {
        follow(name);
    }
}
