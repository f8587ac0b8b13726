//! The words of Rust source, without its comments: what can be told of a crate before it is compiled. A lexer, no
//! parser; where it cannot know, it answers so that more is checked. It knows nothing of packages.

/// What is looked for in a crate's source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sought {
    /// Unsafe code, or code that stands elsewhere and may be unsafe.
    Unsafe,
    /// Whatever orders what threads do, or starts them.
    Synchronization,
    /// Of that, what the instrumentation pass does not tell of: it tells of atomic operations, and so of all that `std` makes of
    /// them without calling the system.
    HiddenSynchronization,
}

/// Modules of `std` and `core` whose types are atomics, or made of them.
const ATOMIC: [&str; 3] = ["atomic", "sync", "task"];
/// With those, the words without which nothing synchronizes threads: other modules whose types do, and ways around them.
const SYNCHRONIZING: [&str; 11] = [
    "asm",
    "global_asm",
    "intrinsics",
    "libc",
    "loom",
    "naked_asm",
    "net",
    "portable_atomic",
    "process",
    "syscall",
    "thread",
];

/// Whether a source file has what is sought. A string counts as code: macros and build scripts write code from strings.
pub(crate) fn has(source: &str, sought: Sought) -> bool {
    let mut words = Words { rest: source, before: ' ', strings: sought == Sought::Unsafe };
    while let Some(word) = words.next() {
        let found = match sought {
            Sought::Unsafe => word == "unsafe",
            Sought::Synchronization => ATOMIC.contains(&word) || SYNCHRONIZING.contains(&word),
            Sought::HiddenSynchronization => SYNCHRONIZING.contains(&word),
        };
        if found || words.brings_other_code(word) {
            return true;
        }
    }
    false
}

/// Identifiers and keywords, one after another.
struct Words<'a> {
    rest: &'a str,
    /// The last character before the word that is not white space; a space if that is the end of another word.
    before: char,
    /// Whether strings are read as well.
    strings: bool,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.before = ' ';
        loop {
            let first = self.rest.chars().next()?;
            if is_of_word(first) {
                let end = self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                match raw_string_length(word, rest) {
                    None => return Some(word),
                    Some(length) if self.is_unsafe(length) => return Some("unsafe"),
                    Some(_) => {}
                }
            } else if self.rest.starts_with("//") {
                self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
            } else if self.rest.starts_with("/*") {
                self.rest = after_block_comment(self.rest);
            } else if first == '"' {
                self.before = first;
                if self.is_unsafe(string_length(self.rest)) {
                    return Some("unsafe");
                }
            } else {
                let length = if first == '\'' { character_length(self.rest) } else { first.len_utf8() };
                if !first.is_whitespace() {
                    self.before = first;
                }
                self.rest = &self.rest[length..];
            }
        }
    }

    /// Passes over a string; whether it is looked at, and speaks of unsafe code.
    fn is_unsafe(&mut self, length: usize) -> bool {
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.strings && text.split(|c| !is_of_word(c)).any(|word| word == "unsafe")
    }

    /// Whether the word, which has just been read, takes in source that is not among the files of the crate.
    fn brings_other_code(&self, word: &str) -> bool {
        let after = self.rest.trim_start();
        match word {
            "include" => after.starts_with('!'),
            "path" if matches!(self.before, '[' | '(' | ',') => {
                let value = after.strip_prefix('=').map(str::trim_start);
                value.is_some_and(|value| value.starts_with('"') && leaves_directory(value))
            }
            _ => false,
        }
    }
}

/// Whether the path in a string that begins here may lead out of the directory of the crate.
fn leaves_directory(string: &str) -> bool {
    let text = &string[1..string_length(string)];
    text.contains("..") || text.starts_with('/') || text.contains(['\\', ':'])
}

fn is_of_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of the raw string whose prefix was `word`, if it is one.
fn raw_string_length(word: &str, rest: &str) -> Option<usize> {
    if !matches!(word, "r" | "br" | "cr") {
        return None;
    }
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let text = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = text.find(&end).map(|at| hashes + 1 + at + end.len());
    Some(length.unwrap_or(rest.len()))
}

/// The length of the string that begins here.
fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character that begins here; of a lifetime, only its quote.
fn character_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => {
            characters.next();
            characters.find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1)
        }
        Some((_, _)) => match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// What follows a block comment; such comments may stand inside each other.
fn after_block_comment(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    // An ASCII character has been passed, so this is a boundary; without an end, everything is comment.
    if depth > 0 { "" } else { &rest[at..] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_code_is_found_and_words_about_it_are_not() {
        for (source, expected) in [
            ("fn f() { unsafe { g() } }", true),
            ("unsafe impl Sync for A {}", true),
            ("#[unsafe(no_mangle)] fn f() {}", true),
            ("#![forbid(unsafe_code)]\n#![deny(unsafe_op_in_unsafe_fn)]", false),
            ("// no unsafe code here\n/// nor unsafe here\nfn f() {}", false),
            ("/* unsafe /* unsafe */ unsafe */ fn f() {}", false),
            ("/* /* */ */ unsafe fn f() {}", true),
            ("let a = \"http://x\"; unsafe { g() }", true),
            ("let a = \"/*\"; unsafe { g() }", true),
            ("let a = r#\"\"/*\"#; unsafe { g() }", true),
            ("let a = '\"'; // unsafe\nlet b = '\"';", false),
            ("let a = '\"'; unsafe { g() } let b = '\"';", true),
            ("let a = '\\''; unsafe { g() }", true),
            ("let a = '\\u{1f600}'; unsafe { g() }", true),
            ("fn f<'a>(x: &'a str) { /* unsafe */ }", false),
            ("fn f<'a>(x: &'a str) { unsafe { g() } }", true),
            ("let a = b'\\\\'; unsafe { g() }", true),
            ("quote(\"unsafe { }\")", true),
            ("quote(r\"unsafe { }\")", true),
            ("let a = \"it \\\" is // safe\"; f();", false),
            ("include!(concat!(env!(\"OUT_DIR\"), \"/a.rs\"));", true),
            ("let a = include_str!(\"a\");", false),
            ("#[path = \"../b.rs\"] mod b;", true),
            ("#[cfg_attr(x, path = \"/b.rs\")] mod b;", true),
            ("#[path = \"b.rs\"] mod b;", false),
            ("let path = \"../b\";", false),
            ("let r = 1; let unsafely = r#fn; // \"", false),
            ("macro_rules! m { () => { unsafe {} } }", true),
            ("/* never ends unsafe", false),
            ("\"never ends unsafe", true),
        ] {
            assert_eq!(has(source, Sought::Unsafe), expected, "{source}");
        }
    }

    #[test]
    fn what_synchronizes_is_found() {
        for (source, expected) in [
            ("use std::sync::Arc;", true),
            ("use core::sync::atomic::AtomicUsize;", true),
            ("std::thread::spawn(|| ());", true),
            ("core::arch::asm!(\"nop\");", true),
            ("unsafe impl Sync for A {}", false),
            ("use std::{cell::Cell, rc::Rc};", false),
            ("// as in std::sync\nfn f() {}", false),
            ("include!(\"a.rs\");", true),
            ("thread_local! { static A: u8 = 0; }", false),
        ] {
            assert_eq!(has(source, Sought::Synchronization), expected, "{source}");
        }
    }
}
