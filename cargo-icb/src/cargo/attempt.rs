//! Compiling a crate against the mirrored library when nobody knows whether that works: it is tried, with less and less
//! replaced, and what could not be instrumented is noted with the compiler's reason. A crate that does not compile as
//! it is either shows the compiler's own messages, with nothing of icb in them.

use super::wrapper::{Compiler, Facades, Swap};
use crate::report::notice;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// How the compiler says that a program has two global allocators.
const TWO_ALLOCATORS: &str = "conflicts with global allocator";

/// The lint that takes offence at `extern crate alloc` where `alloc` is given on the command line, as what replaces it is.
const OF_FACADES: &str = "unused_extern_crates";

/// What remains of a crate that is compiled as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The package.
    pub(crate) package: String,
    /// Its version.
    pub(crate) version: String,
    /// What distinguishes its files from those of other builds.
    pub(crate) suffix: String,
    /// The first error of the compiler.
    pub(crate) reason: String,
}

/// Where the note about a crate is kept, if there is one.
pub(super) struct Notes {
    path: PathBuf,
    package: String,
    version: String,
    suffix: String,
}

impl Notes {
    pub(super) fn new(directory: PathBuf, package: &str, version: &str, arguments: &[OsString]) -> Notes {
        let value = |prefix: &str| {
            let text = arguments.iter().filter_map(|argument| argument.to_str());
            text.filter_map(|text| text.strip_prefix(prefix)).next().unwrap_or("").to_owned()
        };
        let suffix = value("extra-filename=");
        let path = directory.join(format!("{package}-{version}{suffix}.json"));
        Notes { path, package: package.to_owned(), version: version.to_owned(), suffix }
    }

    fn clear(&self) {
        // Most often there is none.
        let _ = fs::remove_file(&self.path);
    }

    fn write(&self, reason: String) {
        if self.suffix.is_empty() {
            // Cargo tells its builds apart; this is a build script that tries what the compiler can do.
            return;
        }
        let Notes { package, version, suffix, .. } = self;
        let (package, version, suffix) = (package.clone(), version.clone(), suffix.clone());
        let note = Note { package, version, suffix, reason };
        let text = serde_json::to_string(&note).unwrap_or_default();
        let made = self.path.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = made.and_then(|()| fs::write(&self.path, text)) {
            notice::say(format_args!(
                "warning: cannot note in {} what is not instrumented: {error}",
                self.path.display()
            ));
        }
    }
}

/// The notes in a directory.
pub(crate) fn notes(directory: &Path) -> Vec<Note> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let mut notes: Vec<Note> = texts.filter_map(|text| serde_json::from_str(&text).ok()).collect();
    notes.retain(|note| !note.suffix.is_empty());
    notes.sort();
    notes.dedup();
    notes
}

/// The attempts at one crate.
pub(super) struct Attempts<'a> {
    pub(super) compiler: Compiler,
    pub(super) swap: Swap<'a>,
    /// What is replaced, one after the other.
    pub(super) facades: &'a [Facades],
    pub(super) notes: Notes,
}

impl Attempts<'_> {
    pub(super) fn run(&self, arguments: &[OsString]) -> ExitCode {
        let mut first = None;
        let mut plain = false;
        for &facades in self.facades {
            loop {
                let harness = self.swap.harness(arguments, plain);
                let rewritten = self.swap.rewrite(arguments, facades, harness);
                match attempt(self.compiler.command(rewritten)) {
                    Ok(held) => {
                        tell(&without_those_of_facades(&held));
                        self.notes.clear();
                        return ExitCode::SUCCESS;
                    }
                    Err(held) if !plain && held.contains(TWO_ALLOCATORS) => plain = true,
                    Err(held) => {
                        first.get_or_insert(held);
                        break;
                    }
                }
            }
        }
        let as_it_is = self.swap.without_flags().rewrite(arguments, Facades::None, None);
        let first = first.unwrap_or_default();
        self.notes.write(first_error(&first));
        match attempt(self.compiler.command(as_it_is)) {
            Ok(held) => {
                tell(&held);
                ExitCode::SUCCESS
            }
            Err(held) => {
                tell(&of_the_crate(&held, &first));
                ExitCode::FAILURE
            }
        }
    }
}

/// What the compiler says of a crate that is compiled as it is, without the errors that only come of its dependencies being instrumented: those that it
/// does not have where it is instrumented like them. If none is left, what it says of the crate where it is instrumented, if those speak of the mirrored
/// library: they hide what the compiler would have come to afterwards (lints). Otherwise all.
fn of_the_crate(held: &str, instrumented: &str) -> String {
    let known: Vec<ErrorKey> = errors(instrumented).map(|(_, key)| key).collect();
    let foreign: Vec<&str> = errors(held)
        .filter(|(_, key)| key.1.is_some() && !known.contains(key))
        .map(|(line, _)| line)
        .collect();
    let own = errors(held).filter(|(_, key)| key.1.is_some() && known.contains(key)).count();
    if own == 0 && !known.is_empty() && foreign.iter().any(|line| line.contains("icb_std")) {
        return instrumented.to_owned();
    }
    if own == 0 || foreign.is_empty() {
        return held.to_owned();
    }
    // The compiler's count would be wrong; cargo gives its own.
    let counts =
        |line: &str| errors(line).any(|(_, key)| key.1.is_none() && key.0.starts_with("aborting due to"));
    held.lines()
        .filter(|line| !foreign.contains(line) && !counts(line))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// What an error says, and of which place.
type ErrorKey = (String, Option<(String, u32)>);

/// The errors among the compiler's messages, with their lines.
fn errors(held: &str) -> impl Iterator<Item = (&str, ErrorKey)> {
    held.lines().filter_map(|line| {
        let diagnostic: Diagnostic = serde_json::from_str(line).ok()?;
        let place = diagnostic.spans.into_iter().find(|span| span.is_primary);
        let place = place.map(|span| (span.file_name, span.line_start));
        (diagnostic.level == "error").then_some((line, (diagnostic.message, place)))
    })
}

/// What the compiler says of a crate that it has compiled, without what it would not say if nothing were replaced.
fn without_those_of_facades(held: &str) -> String {
    let is_other = |line: &&str| {
        let diagnostic: Option<Diagnostic> = serde_json::from_str(line).ok();
        diagnostic.and_then(|diagnostic| diagnostic.code).is_none_or(|code| code.code != OF_FACADES)
    };
    held.lines().filter(is_other).map(|line| format!("{line}\n")).collect()
}

/// Runs the compiler. What it says about the crate is held back, and returned; that a file is ready, cargo is told at once. It is an error if the compiler
/// has not succeeded.
fn attempt(mut command: Command) -> Result<String, String> {
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    let mut held = String::new();
    for line in child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()) {
        let line = line.unwrap_or_default();
        if line.contains(r#""$message_type":"artifact""#) {
            tell(&line);
        } else {
            held += &line;
            held.push('\n');
        }
    }
    if child.wait().is_ok_and(|status| status.success()) {
        return Ok(held);
    }
    Err(held)
}

fn tell(text: &str) {
    let text = text.trim_end_matches('\n');
    if !text.is_empty() {
        // Cargo has gone if this cannot be written.
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// A message of the compiler.
#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
}

/// By which the compiler, or a lint, tells its messages apart.
#[derive(Deserialize)]
struct Code {
    code: String,
}

/// What a message is about.
#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    is_primary: bool,
    label: Option<String>,
}

impl Diagnostic {
    /// The message, where, and what the compiler has to say of that place.
    fn in_words(self) -> String {
        let Some(span) = self.spans.into_iter().find(|span| span.is_primary) else { return self.message };
        let file = Path::new(&span.file_name);
        let parts: Vec<_> = file.components().rev().take(3).collect();
        let file: PathBuf = parts.into_iter().rev().collect();
        let label = span.label.map_or_else(String::new, |label| format!(": {label}"));
        format!("{} ({}:{}{label})", self.message, file.display(), span.line_start)
    }
}

/// The first error among the compiler's messages.
fn first_error(held: &str) -> String {
    let mut diagnostics = held.lines().filter_map(|line| serde_json::from_str::<Diagnostic>(line).ok());
    let error = diagnostics.find(|diagnostic| diagnostic.level == "error").map(Diagnostic::in_words);
    error.unwrap_or_else(|| held.lines().next().unwrap_or("the compiler gave no reason").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_the_reason() {
        let held = "{\"level\":\"warning\",\"message\":\"w\"}\n{\"level\":\"error\",\"message\":\"`alloc` is ambiguous\"}\n{\"level\":\"error\",\"message\":\"x\"}\n";
        assert_eq!(first_error(held), "`alloc` is ambiguous");
        assert_eq!(first_error("ld: no\n"), "ld: no");
    }

    #[test]
    fn warnings_that_come_of_what_is_replaced_are_not_told() {
        let warning = |code: &str| {
            format!(
                r#"{{"level":"warning","message":"m","code":{code},"spans":[{{"file_name":"a.rs","line_start":1,"is_primary":true,"label":null}}]}}"#
            )
        };
        let code = |code: &str| warning(&format!(r#"{{"code":"{code}","explanation":null}}"#));
        let (of_facades, told) = (code("unused_extern_crates"), code("unused_variables"));
        let others = format!("{told}\n{}\nld: warning\n", warning("null"));
        assert_eq!(without_those_of_facades(&format!("{of_facades}\n{others}{of_facades}\n")), others);
    }

    #[test]
    fn what_comes_of_instrumented_dependencies_is_not_told() {
        let error = |message: &str, line: u32| {
            format!(
                r#"{{"level":"error","message":"{message}","spans":[{{"file_name":"a.rs","line_start":{line},"is_primary":true,"label":null}}]}}"#
            )
        };
        let count = r#"{"level":"error","message":"aborting due to 2 previous errors"}"#;
        let warning = r#"{"level":"warning","message":"unused"}"#;
        let held = [
            error("mismatched types", 3),
            error("two kinds of Arc", 5),
            warning.to_owned(),
            count.to_owned(),
        ]
        .join("\n");
        let instrumented = [error("mismatched types", 3), error("no such method", 9)].join("\n");
        assert_eq!(
            of_the_crate(&held, &instrumented),
            format!("{}\n{warning}\n", error("mismatched types", 3))
        );
        assert_eq!(of_the_crate(&held, ""), held);
        assert_eq!(of_the_crate(&held, &held), held);
        let lint = error("implicit autoref", 9);
        assert_eq!(of_the_crate(&held, &lint), held);
        let mirrored = error("expected `icb_std::sync::atomic::AtomicU32`, found `AtomicU32`", 3);
        assert_eq!(of_the_crate(&mirrored, &lint), lint);
        assert_eq!(of_the_crate(&mirrored, ""), mirrored);
    }

    #[test]
    fn notes_come_and_go() {
        let directory = tempfile::tempdir().unwrap();
        let arguments = ["-C", "metadata=1", "-C", "extra-filename=-12ab"].map(OsString::from);
        let note = Notes::new(directory.path().join("notes"), "a", "1.0.0", &arguments);
        note.write("why".to_owned());
        let [package, version, suffix, reason] = ["a", "1.0.0", "-12ab", "why"].map(str::to_owned);
        let expected = Note { package, version, suffix, reason };
        assert_eq!(notes(&directory.path().join("notes")), [expected]);
        note.clear();
        assert_eq!(notes(&directory.path().join("notes")), []);
        Notes::new(directory.path().join("notes"), "a", "1.0.0", &arguments[..2]).write("a probe".to_owned());
        assert_eq!(notes(&directory.path().join("notes")), []);
    }
}
