//! Expressions of the source as text: the receiver of a method call, or the first argument of a function call, at a
//! place, and what of it is a name for people.

use super::frames::Sources;
use crate::trace::SourceLocation;

/// The longest name that helps.
const MAX_NAME: usize = 28;
/// Lines that a chain of method calls, or the arguments of a call, may spread over.
pub(super) const MAX_LINES: usize = 6;
/// Calls at the end of a receiver that say nothing about it.
const TRANSPARENT: [&str; 7] =
    [".unwrap()", ".as_ref()", ".as_mut()", ".borrow()", ".deref()", ".clone()", ".get()"];

/// A call in the source.
pub(super) struct Call {
    /// The receiver of a method.
    pub(super) receiver: Option<String>,
    /// The text from the name of the function or method on, to the end of its line.
    pub(super) text: String,
}

/// The call that stands at a place.
pub(super) fn call_at(location: &SourceLocation, sources: &Sources<'_>) -> Option<Call> {
    let lines = sources.lines(&location.file)?;
    let line = (location.line as usize).checked_sub(1)?;
    let text: Vec<char> = lines.get(line)?.chars().collect();
    let column = (location.column as usize).checked_sub(1).filter(|column| *column <= text.len())?;
    let mut before: String = text[..column].iter().collect();
    let mut first = line;
    while before.trim_end().strip_suffix('.').unwrap_or(before.trim_end()).trim().is_empty()
        && first > 0
        && line - first < MAX_LINES
    {
        first -= 1;
        let code = code_of(&lines[first]);
        before = format!("{}{}", code.trim_end(), before.trim());
    }
    let text = text[column..].iter().collect();
    match before.trim_end().strip_suffix('.') {
        Some(receiver) => Some(Call { receiver: Some(receiver_of(receiver)?), text }),
        None => Some(Call { receiver: None, text }),
    }
}

/// A line without its comment.
pub(super) fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// What the call at a place is about: its receiver, or its first argument.
pub(super) fn expression_at(location: &SourceLocation, sources: &Sources<'_>) -> Option<String> {
    let call = call_at(location, sources)?;
    call.receiver.or_else(|| argument_of(&call.text))
}

/// The path expression at the end of a text: `let x = self.slots[i]` gives `self.slots[i]`.
pub(super) fn receiver_of(text: &str) -> Option<String> {
    let text: Vec<char> = text.trim_end().chars().collect();
    let mut start = text.len();
    while let Some(&last) = start.checked_sub(1).and_then(|index| text.get(index)) {
        if last == ')' || last == ']' {
            start = opening(&text, start - 1)?;
        } else if last == '?' {
            start -= 1;
        } else if is_word(last) {
            while start > 0 && is_word(text[start - 1]) {
                start -= 1;
            }
            let path = start >= 2 && text[start - 2..start] == [':', ':'];
            let field = start >= 1 && text[start - 1] == '.' && (start < 2 || text[start - 2] != '.');
            match (path, field) {
                (true, _) => start -= 2,
                (_, true) => start -= 1,
                _ => break,
            }
        } else {
            break;
        }
    }
    let name: String = text[start..].iter().collect();
    (!name.is_empty()).then_some(name)
}

/// Where the bracket opens that closes at `end`.
fn opening(text: &[char], end: usize) -> Option<usize> {
    let mut depth = 0;
    for (index, character) in text[..=end].iter().enumerate().rev() {
        match character {
            ')' | ']' => depth += 1,
            '(' | '[' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

/// The first argument of a call at the start of a text: `Arc::clone(&driver)` gives `driver`.
fn argument_of(text: &str) -> Option<String> {
    let (function, rest) = text.split_once('(')?;
    if !function.chars().all(|c| is_word(c) || matches!(c, ':' | '<' | '>')) || function.is_empty() {
        return None;
    }
    let argument = rest.trim_start().trim_start_matches('&').trim_start_matches("mut ");
    let end = argument.find(|c| !(is_word(c) || c == '.')).unwrap_or(argument.len());
    let closed = argument[end..].starts_with([')', ',']);
    (closed && end > 0).then(|| argument[..end].to_owned())
}

pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// An expression without what stands for the same thing: references to it, and what is got from these.
pub(super) fn bare(expression: &str) -> &str {
    let mut name = expression.trim_start_matches(['&', '*']);
    while let Some(shorter) = TRANSPARENT.iter().find_map(|call| name.strip_suffix(call)) {
        name = shorter;
    }
    name
}

/// The name without what is the same everywhere; `None` if nothing that helps is left.
pub(super) fn readable(expression: &str) -> Option<String> {
    let name = without_self(bare(expression));
    let pointed_at = name.strip_prefix("(*").and_then(|rest| rest.strip_suffix(')'));
    if let Some(pointer) = pointed_at.filter(|pointer| pointer.chars().all(|c| is_word(c) || c == '.')) {
        return Some(format!("*{pointer}"));
    }
    let short = without_arguments(name);
    let named = short.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '(');
    let digits = short.chars().all(|c| c.is_ascii_digit());
    let says_nothing = ["self", "true", "false", "(…)"].contains(&short.as_str());
    let helps = named && !digits && !says_nothing && short.chars().count() <= MAX_NAME;
    (helps && !is_constructed(&short)).then_some(short)
}

/// `self.count` is `count`, and `self.0.count` too: what is in a tuple has no name that would say more.
fn without_self(name: &str) -> &str {
    let Some(mut name) = name.strip_prefix("self.") else { return name };
    while let Some((first, rest)) = name.split_once('.') {
        if !first.chars().all(|c| c.is_ascii_digit()) {
            break;
        }
        name = rest;
    }
    name
}

/// Whether it is a value made on the spot, `Guard(…)`, which is not what it is made of.
fn is_constructed(short: &str) -> bool {
    let Some((function, _)) = short.split_once('(') else { return false };
    function.rsplit("::").next().is_some_and(|name| name.starts_with(|c: char| c.is_uppercase()))
}

/// A name in which what stands in brackets is left out, unless it is a number: `slots[…]`.
fn without_arguments(name: &str) -> String {
    let mut short = String::new();
    let mut depth = 0;
    let mut inside = String::new();
    for character in name.chars() {
        match character {
            '(' | '[' => {
                if depth == 0 {
                    short.push(character);
                    inside.clear();
                } else {
                    inside.push(character);
                }
                depth += 1;
            }
            ')' | ']' => {
                depth -= 1;
                if depth == 0 {
                    let literal = inside.chars().all(|c| c.is_ascii_digit());
                    short += if literal { &inside } else { "…" };
                    short.push(character);
                } else {
                    inside.push(character);
                }
            }
            _ if depth > 0 => inside.push(character),
            _ => short.push(character),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_read_off_the_source() {
        for (text, name) in [
            ("    self.pending_io", Some("pending_io")),
            ("let mut guard = accounts[second]", Some("accounts[…]")),
            ("if tail >= self.slot(head)", Some("slot(…)")),
            ("while !SHARED.flag", Some("SHARED.flag")),
            ("state::READY", Some("state::READY")),
            ("(*node).next", Some("(…).next")),
            ("unsafe { (*node)", Some("*node")),
            ("let x = slots[0]", Some("slots[0]")),
            ("self.queue.lock().unwrap()", Some("queue.lock()")),
            ("let _x = self.0.a", Some("a")),
            ("self.0.1.slots[i]", Some("slots[…]")),
            ("self.0", None),
            ("self.0.1", None),
            ("pair.0", Some("pair.0")),
            ("Fut(&pair)", None),
            ("app::Fut(&pair)", None),
            ("Fut::of(&pair)", Some("Fut::of(…)")),
            ("self", None),
            ("f(true", None),
            ("(a + b)", None),
            ("x + 1", None),
            ("a_name_that_is_much_too_long_to_help", None),
            ("", None),
        ] {
            assert_eq!(receiver_of(text).and_then(|name| readable(&name)).as_deref(), name, "{text}");
        }
        for (text, name) in [
            ("Arc::clone(&driver);", Some("driver")),
            ("drop(self.count)", Some("self.count")),
            ("AtomicU32::load(&x, SeqCst)", Some("x")),
            ("spawn(move || 1)", None),
            ("x.load()", None),
        ] {
            assert_eq!(argument_of(text).as_deref(), name, "{text}");
        }
    }
}
