//! What the source calls an object: the receiver of the method call, or the first argument of the function call, that
//! a step comes from. Read off the source text, so it is a name for people: a step without a readable name has none.

use super::frames::{Sources, is_machinery_file};
use crate::trace::{Action, DeadlockEntry, ObjectId, SourceLocation, ThreadId, Trace};
use std::collections::{BTreeMap, HashMap};

/// The longest name that helps.
const MAX_NAME: usize = 28;
/// Callers that are asked for a name.
const MAX_CALLERS: usize = 2;
/// Lines that a chain of method calls may spread over.
const MAX_LINES: usize = 6;
/// Calls at the end of a receiver that say nothing about it.
const TRANSPARENT: [&str; 7] =
    [".unwrap()", ".as_ref()", ".as_mut()", ".borrow()", ".deref()", ".clone()", ".get()"];

/// The variable or field path of each object that has one.
pub(super) fn variables(
    trace: &Trace,
    waiting: &[DeadlockEntry],
    sources: &Sources<'_>,
) -> HashMap<ObjectId, String> {
    let mut votes: BTreeMap<ObjectId, BTreeMap<String, Vote>> = BTreeMap::new();
    let mut vote = |object: ObjectId, thread: ThreadId, name: Option<String>| {
        if let Some(name) = name.filter(|_| object.is_some()) {
            let vote = votes.entry(object).or_default().entry(name).or_insert(Vote { count: 0, thread });
            vote.count += 1;
            vote.thread = vote.thread.min(thread);
        }
    };
    for step in &trace.steps {
        let Some(location) = step.location.as_ref().filter(|at| !is_machinery_file(&at.file)) else {
            continue;
        };
        if is_end_of_scope(step.operation.action) {
            continue;
        }
        // A wrapper's own `self.0` says nothing: whoever calls the wrapper may say more.
        let callers =
            trace.backtrace(step).skip(1).take(MAX_CALLERS).filter_map(|frame| frame.location.as_ref());
        let name = std::iter::once(location).chain(callers).find_map(|place| name_at(place, sources));
        vote(step.operation.object, step.thread, name);
    }
    for entry in waiting {
        let place = entry.location.as_ref().filter(|at| !is_machinery_file(&at.file));
        if !is_end_of_scope(entry.operation.action) {
            vote(entry.operation.object, entry.thread, place.and_then(|place| name_at(place, sources)));
        }
    }
    // The name used most; of several the one that the older thread uses.
    let best = |votes: BTreeMap<String, Vote>| {
        let order = |vote: &Vote| (vote.count, std::cmp::Reverse(vote.thread));
        votes.into_iter().max_by_key(|(_, vote)| order(vote)).map(|(name, _)| name)
    };
    votes.into_iter().filter_map(|(object, votes)| Some((object, best(votes)?))).collect()
}

/// How often an object is called so, and by which thread first.
struct Vote {
    count: usize,
    thread: ThreadId,
}

/// Steps that stand where a value goes out of scope, or where a thread begins, not where one is named.
pub(super) fn is_end_of_scope(action: Action) -> bool {
    matches!(
        action,
        Action::Unlock
            | Action::ReadUnlock
            | Action::WriteUnlock
            | Action::CountDown
            | Action::CountLast
            | Action::SenderDrop
            | Action::ReceiverDrop
            | Action::Begin
            | Action::Spawn
            | Action::Join
            | Action::Reacquire { .. }
    )
}

fn name_at(location: &SourceLocation, sources: &Sources<'_>) -> Option<String> {
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
        let code = lines[first].split("//").next().unwrap_or_default();
        before = format!("{}{}", code.trim_end(), before.trim());
    }
    let name = match before.trim_end().strip_suffix('.') {
        Some(receiver) => receiver_of(receiver),
        None => argument_of(&text[column..].iter().collect::<String>()),
    }?;
    readable(&name)
}

/// The path expression at the end of a text: `let x = self.slots[i]` gives `self.slots[i]`.
fn receiver_of(text: &str) -> Option<String> {
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

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The name without what is the same everywhere; `None` if nothing that helps is left.
fn readable(name: &str) -> Option<String> {
    let mut name = name.trim_start_matches(['&', '*']);
    while let Some(shorter) = TRANSPARENT.iter().find_map(|call| name.strip_suffix(call)) {
        name = shorter;
    }
    let name = name.strip_prefix("self.").unwrap_or(name);
    let pointed_at = name.strip_prefix("(*").and_then(|rest| rest.strip_suffix(')'));
    if let Some(pointer) = pointed_at.filter(|pointer| pointer.chars().all(|c| is_word(c) || c == '.')) {
        return Some(format!("*{pointer}"));
    }
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
    let named = short.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '(');
    let digits = short.chars().all(|c| c.is_ascii_digit());
    (named && !digits && short != "self" && short.chars().count() <= MAX_NAME).then_some(short)
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
            ("self", None),
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
