//! Backtraces without the frames of the machinery, and the source lines they name.

use super::{Line, Style};
use crate::trace::{Frame, SourceLocation};
use std::path::PathBuf;

/// Crates whose frames say nothing about the program under test.
const MACHINERY: [&str; 10] = [
    "std",
    "core",
    "alloc",
    "icb_core",
    "icb_std",
    "generator",
    "test",
    "backtrace",
    "rustc_demangle",
    "panic_unwind",
];

/// Frames shown of a backtrace, at most.
const MAX_FRAMES: usize = 12;

/// Where source files are looked for. No roots: source lines are not quoted.
pub(super) struct Sources<'a> {
    roots: &'a [PathBuf],
}

impl<'a> Sources<'a> {
    pub(super) fn new(roots: &'a [PathBuf]) -> Self {
        Sources { roots }
    }

    fn line(&self, location: &SourceLocation) -> Option<String> {
        let wanted = usize::try_from(location.line).ok()?.checked_sub(1)?;
        let text =
            self.roots.iter().find_map(|root| std::fs::read_to_string(root.join(&location.file)).ok())?;
        text.lines().nth(wanted).map(|line| line.trim_end().to_owned())
    }
}

/// The frames of the program under test, innermost first, and the source line of the innermost one.
pub(super) fn backtrace(frames: &[Frame], sources: &Sources<'_>) -> Vec<Line> {
    let mut shown: Vec<&Frame> = frames.iter().filter(|frame| !is_machinery(&frame.function)).collect();
    if shown.is_empty() {
        shown = frames.iter().collect();
    }
    let mut lines = Vec::new();
    for (number, frame) in shown.iter().take(MAX_FRAMES).enumerate() {
        let mut line = Line::of(format!("    {number:>2}  "), Style::Dim);
        line.push(function_name(&frame.function), Style::Plain);
        lines.push(line);
        if let Some(location) = &frame.location {
            lines.push(Line::of(format!("          at {location}"), Style::Dim));
            lines.extend(excerpt(location, sources).filter(|_| number == 0));
        }
    }
    if shown.len() > MAX_FRAMES {
        lines.push(Line::of(format!("        … {} more frames", shown.len() - MAX_FRAMES), Style::Dim));
    }
    lines
}

/// A place and its source line.
pub(super) fn place(location: &SourceLocation, sources: &Sources<'_>) -> Vec<Line> {
    let mut lines = vec![Line::of(format!("          at {location}"), Style::Dim)];
    lines.extend(excerpt(location, sources));
    lines
}

fn excerpt(location: &SourceLocation, sources: &Sources<'_>) -> Option<Line> {
    let text = sources.line(location)?;
    let margin = format!("{:>12} │ ", location.line);
    Some(Line::of(margin, Style::Dim).and(text.trim_start(), Style::Source))
}

/// Whether a function belongs to std, to the tool or to the start of the process.
fn is_machinery(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&', '(', '[', '*', ' ']);
    let path =
        ["mut ", "const ", "dyn "].iter().fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    let Some((first, _)) = path.split_once("::") else {
        return !path.contains('{');
    };
    let name = first.split('[').next().unwrap_or(first);
    MACHINERY.contains(&name)
}

/// A demangled name without its hash: `app::run::{closure}`.
fn function_name(function: &str) -> String {
    let name = match function.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => function,
    };
    name.replace("{{closure}}", "{closure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machinery_is_recognised() {
        for function in [
            "std::panicking::begin_panic",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            "<alloc::boxed::Box<F> as core::ops::function::FnOnce<()>>::call_once",
            "<&mut icb_std::sync::MutexGuard<T> as core::ops::drop::Drop>::drop",
            "icb_core::worker::check",
            "core[4f2]::panicking::panic",
            "__rust_try",
            "_start",
        ] {
            assert!(is_machinery(function), "{function}");
        }
        for function in [
            "icb_tests::bluetooth::stop",
            "<app::Queue as core::ops::drop::Drop>::drop",
            "coreutils::run",
            "app::main::{{closure}}",
        ] {
            assert!(!is_machinery(function), "{function}");
        }
    }

    #[test]
    fn hashes_are_dropped() {
        assert_eq!(function_name("a::b::{{closure}}::h0123456789abcdef"), "a::b::{closure}");
        assert_eq!(function_name("a::hello"), "a::hello");
    }
}
