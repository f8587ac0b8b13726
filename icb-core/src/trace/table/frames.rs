//! Backtraces without the frames of the machinery, and the source lines they name.

use super::{Line, Style};
use crate::trace::{Frame, SourceLocation};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Crates whose frames say nothing about the program under test.
const MACHINERY: [&str; 11] = [
    "std",
    "core",
    "alloc",
    "icb_core",
    "icb_harness",
    "icb_std",
    "corosensei",
    "test",
    "backtrace",
    "rustc_demangle",
    "panic_unwind",
];

/// Packages whose source files say nothing about it either.
const MACHINERY_PACKAGES: [&str; 4] = ["icb-core", "icb-std", "corosensei", "backtrace"];

/// How a line with a place begins; such lines are never cut.
pub(super) const AT: &str = "          at ";

/// Frames shown of a backtrace, at most.
const MAX_FRAMES: usize = 12;
/// Of these, kept for the user's own.
const MAX_OWN_FRAMES: usize = 6;

/// Where source files are looked for. No roots: source lines are not quoted.
pub(super) struct Sources<'a> {
    roots: &'a [PathBuf],
    files: RefCell<HashMap<String, Option<Rc<Vec<String>>>>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(roots: &'a [PathBuf]) -> Self {
        Sources { roots, files: RefCell::default() }
    }

    /// The lines of a file, if it can be read.
    pub(super) fn lines(&self, file: &str) -> Option<Rc<Vec<String>>> {
        let read = || {
            let text = self.roots.iter().find_map(|root| std::fs::read_to_string(root.join(file)).ok())?;
            Some(Rc::new(text.lines().map(|line| line.trim_end().to_owned()).collect()))
        };
        self.files.borrow_mut().entry(file.to_owned()).or_insert_with(read).clone()
    }

    /// A text in which places stand, these as short as elsewhere.
    pub(super) fn shorten(&self, text: &str) -> String {
        let long = self.roots.iter().filter(|root| root.components().count() > 2);
        let text = long.fold(text.to_owned(), |text, root| text.replace(&format!("{}/", root.display()), ""));
        without_registries(&text)
    }

    /// The file without what is the same for all: a root, or the directories of a package registry.
    fn short<'f>(&self, file: &'f str) -> &'f str {
        if let Some((_, package)) = file.split_once(REGISTRY) {
            return package.split_once('/').map_or(package, |(_, package)| package);
        }
        let below = |root: &PathBuf| {
            let rest = file.strip_prefix(root.to_str()?)?;
            rest.strip_prefix('/').filter(|rest| !rest.is_empty())
        };
        self.roots.iter().filter(|root| root.components().count() > 2).find_map(below).unwrap_or(file)
    }
}

/// Below it are the directories of package registries, and in these the packages.
const REGISTRY: &str = "/registry/src/";

/// A text in which places stand, these without the directories of a package registry.
#[must_use]
pub fn without_registries(text: &str) -> String {
    let mut short = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(REGISTRY) {
        let is_outside = |c: char| c.is_whitespace() || "(\"'`".contains(c);
        let begin = before.len() - before.rsplit(is_outside).next().map_or(0, str::len);
        match after.split_once('/').filter(|(index, _)| !index.contains(char::is_whitespace)) {
            Some((_, package)) => {
                short += &before[..begin];
                rest = package;
            }
            None => {
                short += before;
                short += REGISTRY;
                rest = after;
            }
        }
    }
    short + rest
}

/// `src/queue.rs:12`, as short as it can be opened.
pub(super) fn short_place(location: &SourceLocation, sources: &Sources<'_>) -> String {
    format!("{}:{}", sources.short(&location.file), location.line)
}

/// The frames of the program under test, innermost first, and the source line of the innermost one.
pub(super) fn backtrace(frames: &[Frame], sources: &Sources<'_>) -> Vec<Line> {
    innermost(frames, sources, |left_out| format!("{left_out} more frames"))
}

/// The same of a stack that is too deep to be known whole.
pub(super) fn endless_backtrace(frames: &[Frame], sources: &Sources<'_>) -> Vec<Line> {
    innermost(frames, sources, |_| "and so on".to_owned())
}

fn innermost(frames: &[Frame], sources: &Sources<'_>, rest: impl FnOnce(usize) -> String) -> Vec<Line> {
    let mut shown: Vec<&Frame> = frames.iter().filter(|frame| is_of_program(frame)).collect();
    let by_harness = |frame: &Frame| frame.function.contains("icb_harness");
    if shown.is_empty() && !frames.iter().any(by_harness) {
        shown = frames.iter().collect();
    }
    let kept = kept(&shown);
    let first_own = kept.iter().copied().find(|&number| is_own(shown[number]));
    let more = |text: String| Line::of(format!("        … {text}"), Style::Dim);
    let (mut lines, mut next) = (Vec::new(), 0);
    for &number in &kept {
        if number > next {
            lines.push(more(format!("{} more frames", number - next)));
        }
        next = number + 1;
        let frame = shown[number];
        let mut line = Line::of(format!("    {number:>2}  "), Style::Dim);
        line.push(function_name(&frame.function), Style::Plain);
        lines.push(line);
        if let Some(location) = &frame.location {
            lines.push(at(location, sources));
            if number == 0 || Some(number) == first_own {
                lines.extend(excerpt(location, sources));
            }
        }
    }
    if shown.len() > next {
        lines.push(more(rest(shown.len() - next)));
    }
    lines
}

/// Numbers of the frames that are shown: the innermost ones, and the innermost of the user's own, which packages may have called from far outside.
fn kept(frames: &[&Frame]) -> Vec<usize> {
    let own = (0..frames.len()).filter(|&number| is_own(frames[number])).take(MAX_OWN_FRAMES);
    let mut kept: Vec<usize> = own.collect();
    let others = (0..frames.len()).filter(|number| !kept.contains(number));
    let others: Vec<usize> = others.take(MAX_FRAMES.saturating_sub(kept.len())).collect();
    kept.extend(others);
    kept.sort_unstable();
    kept
}

/// Whether it is of no package from a registry.
fn is_own(frame: &Frame) -> bool {
    frame.location.as_ref().is_some_and(|location| !location.file.contains(REGISTRY))
}

/// Whether a frame belongs to the program under test, not to std or to the tool.
#[must_use]
pub fn is_of_program(frame: &Frame) -> bool {
    match &frame.location {
        // Names without a path say nothing: line tables hold no others for what was inlined.
        Some(location) => {
            let named = frame.function.contains("::") && is_machinery(&frame.function);
            !named && !is_machinery_file(&location.file)
        }
        None => !is_machinery(&frame.function),
    }
}

/// Whether the program has made an access by one of std's volatile functions.
pub(super) fn is_volatile(frames: &[Frame]) -> bool {
    let by_std = frames.iter().take_while(|frame| !is_of_program(frame));
    let mut parts = by_std.flat_map(|frame| frame.function.split("::"));
    parts.any(|part| matches!(part.split('<').next(), Some("read_volatile" | "write_volatile")))
}

/// A place and its source lines.
pub(super) fn place(location: &SourceLocation, sources: &Sources<'_>) -> Vec<Line> {
    let mut lines = vec![at(location, sources)];
    lines.extend(excerpt(location, sources));
    lines
}

fn at(location: &SourceLocation, sources: &Sources<'_>) -> Line {
    let file = sources.short(&location.file);
    // Where a function begins there is a line, and no column.
    let column = if location.column > 0 { format!(":{}", location.column) } else { String::new() };
    Line::of(format!("{AT}{file}:{}{column}", location.line), Style::Dim)
}

/// The line of a place between those around it that say something.
fn excerpt(location: &SourceLocation, sources: &Sources<'_>) -> Vec<Line> {
    let Some(lines) = sources.lines(&location.file) else { return Vec::new() };
    let Some(middle) = (location.line as usize).checked_sub(1).filter(|line| *line < lines.len()) else {
        return Vec::new();
    };
    let around = middle.saturating_sub(1)..=(middle + 1).min(lines.len() - 1);
    let shown: Vec<usize> = around.filter(|&line| line == middle || says_something(&lines[line])).collect();
    let indent = |line: usize| lines[line].len() - lines[line].trim_start().len();
    let common = shown.iter().map(|&line| indent(line)).min().unwrap_or(0);
    shown
        .into_iter()
        .map(|line| {
            let text = lines[line].get(common..).unwrap_or_default();
            let (sign, style) = if line == middle { ('▸', Style::Source) } else { (' ', Style::Dim) };
            let mut quoted = Line::of(format!("{sign:>8}"), Style::Preemption);
            quoted.push(format!(" {:>4} │ ", line + 1), Style::Dim);
            if line == middle {
                quoted.focus = (location.column as usize).saturating_sub(common + 1);
            }
            quoted.and(text, style)
        })
        .collect()
}

/// Whether a line beside the one that is meant is worth quoting.
fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric) && !line.trim_start().starts_with("//")
}

/// Whether a file belongs to std, to the tool or to what the tool is made of. Frames that were inlined are often
/// known by their files only: line tables hold no paths of functions.
#[must_use]
pub fn is_machinery_file(file: &str) -> bool {
    let file = file.replace('\\', "/");
    let package = |directory: &str| {
        let versioned = |name: &str| {
            directory
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('-'))
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        matches!(directory, "icb-core" | "icb-std") || MACHINERY_PACKAGES.into_iter().any(versioned)
    };
    let mut components = file.split('/').peekable();
    let mut in_package = false;
    while let Some(component) = components.next() {
        in_package |= package(component)
            && matches!(components.peek(), Some(&("src" | "harness" | "loom" | "shuttle")));
    }
    in_package
        || file.starts_with("/rustc/")
        || file.contains("/rustlib/src/rust/library/")
        || is_of_c_library(&file)
}

/// Whether a file is one of the system's C library, where its debug information is there: it names them as its build did.
fn is_of_c_library(file: &str) -> bool {
    let is_relative = file.starts_with("./") || file.starts_with("../");
    let is_c = [".c", ".h", ".S"].iter().any(|extension| file.ends_with(extension));
    is_relative && is_c || file.contains("/sysdeps/unix/sysv/")
}

/// Whether a file belongs to a package that is not of the workspace: cargo keeps those in directories of its own.
pub(super) fn is_of_others(file: &str) -> bool {
    let file = file.replace('\\', "/");
    ["/registry/src/", "/git/checkouts/"].iter().any(|directory| file.contains(directory))
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

/// A demangled name without its hash, the numbers of closures and arguments of types: `app::Type::run::{closure}`, whichever
/// mangling it had (the newer one has `<app::Type>::run::<u32>::{closure#0}`).
fn function_name(function: &str) -> String {
    const NUMBERED: &str = "{closure#";
    let name = match function.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name,
        _ => function,
    };
    let mut parts = name.split(NUMBERED);
    let mut short = parts.next().unwrap_or_default().replace("{{closure}}", "{closure}");
    for part in parts {
        short += "{closure";
        short += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    of_type(&without_arguments(&short))
}

/// `app::Type::run` for `<app::Type>::run`; what is a trait's, or of a type without a path, stays.
fn of_type(name: &str) -> String {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let parts = bracketed(name).map(|length| (&name[1..length - 1], &name[length..]));
    let plain = parts.filter(|(of, rest)| {
        let (path, arguments) = of.split_at(of.find('<').unwrap_or(of.len()));
        let is_whole = arguments.is_empty() || bracketed(arguments) == Some(arguments.len());
        is_whole && path.contains("::") && path.chars().all(is_of_path) && rest.starts_with("::")
    });
    plain.map_or_else(|| name.to_owned(), |(of, rest)| format!("{of}{rest}"))
}

/// `app::run` for `app::run::<u32>`.
fn without_arguments(name: &str) -> String {
    let mut short = String::new();
    let mut rest = name;
    while let Some((before, _)) = rest.split_once("::<") {
        let arguments = &rest[before.len() + "::".len()..];
        let length = bracketed(arguments).filter(|_| !arguments.starts_with("<impl "));
        short += before;
        if length.is_none() {
            short += "::<";
        }
        rest = &arguments[length.unwrap_or(1)..];
    }
    short + rest
}

/// How long the text in angle brackets is that this text begins with, both brackets included.
fn bracketed(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut last = ' ';
    for (index, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (c == '>').then_some(index + 1);
        }
        last = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_text_are_as_short_as_elsewhere() {
        let long = "(T0 at /home/x/.cargo/registry/src/index-1/a-1.0.0/src/lib.rs:2:3; T1 at /home/x/.cargo/registry/src/index-1/b-2.0.0/src/b.rs:4)";
        assert_eq!(without_registries(long), "(T0 at a-1.0.0/src/lib.rs:2:3; T1 at b-2.0.0/src/b.rs:4)");
        for text in ["nothing", "it is in /registry/src/ here/there", ""] {
            assert_eq!(without_registries(text), text);
        }
    }

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
    fn files_of_the_machinery_are_recognised() {
        for file in [
            "/rustc/59807616e1fa/library/core/src/ptr/mod.rs",
            "/home/x/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/panicking.rs",
            "/home/x/.cargo/registry/src/index/backtrace-0.3.77/src/backtrace/mod.rs",
            "/home/x/.cargo/registry/src/index/icb-std-0.1.0/src/sync/mutex.rs",
            "icb-core/src/runtime/mod.rs",
            "..\\icb-std\\src\\door.rs",
            "/home/x/icb-std/shuttle/src/future.rs",
        ] {
            assert!(is_machinery_file(file), "{file}");
        }
        for file in [
            "icb-tests/src/programs/bluetooth.rs",
            "src/lib.rs",
            "/home/x/corosensei-tools/src/lib.rs",
            "corosensei/src/lib.rs",
        ] {
            assert!(!is_machinery_file(file), "{file}");
        }
    }

    #[test]
    fn hashes_are_dropped() {
        assert_eq!(function_name("a::b::{{closure}}::h0123456789abcdef"), "a::b::{closure}");
        assert_eq!(function_name("a::b::{closure#0}::{closure#12}"), "a::b::{closure}::{closure}");
        assert_eq!(function_name("<a::B>::c::{closure#1}::d"), "a::B::c::{closure}::d");
        assert_eq!(function_name("a::hello"), "a::hello");
    }

    #[test]
    fn names_are_those_of_the_older_mangling() {
        for (name, short) in [
            ("<a::B>::c", "a::B::c"),
            ("<a::B<u32, fn() -> a::C<u8>>>::c", "a::B<u32, fn() -> a::C<u8>>::c"),
            ("a::b::<u32>", "a::b"),
            ("a::b::<fn() -> a::C<u8>>::{closure#0}", "a::b::{closure}"),
            ("<a::B>::c::<u32>::{closure#0}", "a::B::c::{closure}"),
        ] {
            assert_eq!(function_name(name), short);
        }
        for name in [
            "<a::B as c::D>::e",
            "<a::B<u32> as c::D<a::F>>::e",
            "<u32>::pow",
            "<[a::B]>::c",
            "<dyn a::B>::c",
            "<&a::B>::c",
            "a::<impl b::C for [u32]>::d",
            "a::b::<",
            "<a::B",
            "",
        ] {
            assert_eq!(function_name(name), name);
        }
    }
}
