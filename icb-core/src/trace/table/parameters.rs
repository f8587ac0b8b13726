//! What the caller of a function calls that which the function itself calls by the name of a parameter:
//! `from.balance` is `alice.balance` where `transfer(&alice, &bob)` has led there. Read off the source text.

use super::frames::Sources;
use super::spelling::{MAX_LINES, bare, call_at, code_of, is_word, receiver_of};
use crate::trace::SourceLocation;

/// Lines above a place in which its function is looked for.
const MAX_FUNCTION: usize = 300;
/// Lines that the head of a function may spread over.
const MAX_HEAD: usize = 20;

/// A function of the source.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Function {
    name: String,
    /// Its parameters, `self` among them.
    parameters: Vec<String>,
}

impl Function {
    /// The function that a place is in.
    pub(super) fn around(location: &SourceLocation, sources: &Sources<'_>) -> Option<Function> {
        let lines = sources.lines(&location.file)?;
        let line = (location.line as usize).checked_sub(1)?;
        let before: String =
            lines.get(line)?.chars().take((location.column as usize).saturating_sub(1)).collect();
        let head_from = |line: usize, at: usize| {
            let end = lines.len().min(line + MAX_HEAD);
            let mut head = lines[line][at..].to_owned();
            lines[line + 1..end].iter().for_each(|line| head += code_of(line));
            Function::of(&head)
        };
        if let Some(at) = name_of_function(&before) {
            return head_from(line, at);
        }
        let mut indent = indent_of(&lines[line]);
        for above in (line.saturating_sub(MAX_FUNCTION)..line).rev() {
            let text = code_of(&lines[above]);
            // What stands no further out than the place has ended before it.
            if text.trim().is_empty() || indent_of(text) >= indent {
                continue;
            }
            match name_of_function(text) {
                Some(at) => return head_from(above, at),
                None => indent = indent_of(text) + usize::from(is_end_of_head(text)),
            }
        }
        None
    }

    /// Of a text that begins with the function's name.
    fn of(head: &str) -> Option<Function> {
        let name: String = head.chars().take_while(|c| is_word(*c)).collect();
        let rest = without_generics(&head[name.len()..]);
        let parameters = parts(rest.strip_prefix('(')?, true)?;
        let parameters = parameters.iter().map(|parameter| parameter_name(parameter)).collect();
        Some(Function { name, parameters })
    }

    /// Whether an expression in it is about one of its parameters other than `self`.
    pub(super) fn takes(&self, expression: &str) -> bool {
        let root = root_of(expression.trim_start_matches(['(', '*', '&']));
        root != "self" && self.parameters.iter().any(|parameter| parameter == root)
    }

    /// What an expression in it about a parameter is at the place that calls it.
    pub(super) fn given(
        &self,
        expression: &str,
        caller: &SourceLocation,
        sources: &Sources<'_>,
    ) -> Option<String> {
        let expression = bare(expression);
        let root = root_of(expression);
        let position = self.parameters.iter().position(|parameter| parameter == root && !root.is_empty())?;
        let call = call_at(caller, sources)?;
        let (path, _) = call.text.split_once('(')?;
        let path = path.split_once("::<").map_or(path, |(path, _)| path).trim();
        if path.rsplit("::").next() != Some(&self.name) {
            return None;
        }
        let argument = match call.receiver {
            Some(receiver) if position == 0 => receiver,
            Some(_) => argument(caller, position - 1, sources)?,
            None => argument(caller, position, sources)?,
        };
        Some(format!("{}{}", path_of(&argument)?, &expression[root.len()..]))
    }
}

/// One of the arguments of the call at a place.
fn argument(caller: &SourceLocation, position: usize, sources: &Sources<'_>) -> Option<String> {
    let lines = sources.lines(&caller.file)?;
    let line = (caller.line as usize).checked_sub(1)?;
    let mut text: String = lines.get(line)?.chars().skip((caller.column as usize).checked_sub(1)?).collect();
    let end = lines.len().min(line + MAX_LINES);
    lines[line + 1..end].iter().for_each(|line| text += code_of(line));
    let (_, arguments) = text.split_once('(')?;
    parts(arguments, false)?.into_iter().nth(position)
}

/// The path that an argument is, without what makes a reference of it.
fn path_of(argument: &str) -> Option<&str> {
    let argument = argument.trim().trim_start_matches('&').trim_start_matches("mut ");
    let cloned = ["Arc::clone(", "Rc::clone("].iter().find_map(|clone| argument.strip_prefix(clone));
    let argument = cloned.and_then(|rest| rest.strip_suffix(')')).unwrap_or(argument);
    let path = bare(argument.trim());
    let is_path = receiver_of(path).as_deref() == Some(path) && !root_of(path).is_empty();
    let is_literal = path.starts_with(|c: char| c.is_ascii_digit());
    (is_path && !is_literal).then_some(path)
}

/// The identifier that an expression begins with.
fn root_of(expression: &str) -> &str {
    let end = expression.find(|c| !is_word(c)).unwrap_or(expression.len());
    &expression[..end]
}

/// Where the name of the last function that is defined in a line begins.
fn name_of_function(line: &str) -> Option<usize> {
    let mut end = line.len();
    while let Some(at) = line[..end].rfind("fn ") {
        let is_word_of_its_own = !line[..at].ends_with(is_word);
        if is_word_of_its_own && line[at + 3..].starts_with(is_word) {
            return Some(at + 3);
        }
        end = at;
    }
    None
}

/// Whether a line is the last one of a head that stands on several: `) -> u32 {`.
fn is_end_of_head(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with([')', '{']) || text.starts_with("where") || text.starts_with("->")
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A text without the parameters for types that it begins with.
fn without_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
        before = character;
    }
    text
}

/// What stands between commas, up to the bracket that closes what the text is in.
fn parts(text: &str, of_types: bool) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    let mut before = ' ';
    for character in text.chars() {
        match character {
            ')' if depth == 0 => {
                parts.retain(|part| !part.trim().is_empty());
                return Some(parts);
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '<' if of_types => depth += 1,
            '>' if of_types && before != '-' => depth -= 1,
            _ => {}
        }
        match (character, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (_, Some(part)) => part.push(character),
            _ => {}
        }
        before = character;
    }
    None
}

/// What a parameter is called: `self` of `&mut self`, `from` of `mut from: Account`.
fn parameter_name(parameter: &str) -> String {
    let pattern = parameter.split(':').next().unwrap_or_default();
    pattern.split([' ', '&']).rfind(|word| !word.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_functions_are_read() {
        for (head, name, parameters) in [
            ("transfer(from: &Account, to: &Account, n: i64) {", "transfer", &["from", "to", "n"][..]),
            ("go(&self) {", "go", &["self"]),
            ("go(&'a mut self, mut x: HashMap<u8, (u8, u8)>,) ->", "go", &["self", "x"]),
            ("wake(self: Arc<Self>) {", "wake", &["self"]),
            ("map<T, F: Fn(&T) -> Vec<T>>(each: F, of: [u8; 2])", "map", &["each", "of"]),
            ("run() {", "run", &[]),
        ] {
            let function = Function::of(head).unwrap();
            assert_eq!((function.name.as_str(), &function.parameters[..]), (name, &owned(parameters)[..]));
        }
        for head in ["transfer(from: &Account,", "transfer"] {
            assert_eq!(Function::of(head), None);
        }
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn arguments_are_paths() {
        for (argument, path) in [
            ("&alice", Some("alice")),
            (" &mut self.alice ", Some("self.alice")),
            ("Arc::clone(&alice)", Some("alice")),
            ("alice.clone()", Some("alice")),
            ("&accounts[i]", Some("accounts[i]")),
            ("&(a + b)", None),
            ("5", None),
            ("a + b", None),
            ("|x| x", None),
        ] {
            let path = path.map(str::to_owned);
            assert_eq!(path_of(argument).map(str::to_owned), path, "{argument}");
        }
    }
}
