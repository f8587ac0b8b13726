//! Signatures as text: taken apart, and put together again as a function that compiles only if the item it names has
//! that signature. Knows Rust's syntax as rustdoc prints it, and nothing of pages or files.

/// What the declarations of these types ask of their parameters.
const WELL_FORMED: [(&str, &str); 2] =
    [("std::thread::LocalKey<T>", "T: 'static"), ("<'scope, 'env>", "'env: 'scope")];

/// Generics, what they are for, and conditions.
#[derive(Debug, Default, Clone)]
pub(super) struct Header {
    pub(super) generics: Vec<String>,
    /// The text between the generics and `where`.
    pub(super) body: String,
    pub(super) conditions: Vec<String>,
}

/// Splits at commas that stand in no brackets.
pub(super) fn split_top(text: &str, separator: char) -> Vec<String> {
    let (mut parts, mut depth, mut part, mut last) = (Vec::new(), 0, String::new(), ' ');
    for c in text.chars() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if last != '-' && last != '=' => depth -= 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if c == separator && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
        last = c;
    }
    parts.push(part);
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The bracketed text at the beginning, without its brackets, and what follows.
pub(super) fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut last) = (0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' if last == '-' || last == '=' => {}
            '>' | ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some((&text[1..at], &text[at + 1..]));
                }
            }
            _ => {}
        }
        last = c;
        if depth == 0 {
            return None;
        }
    }
    None
}

impl Header {
    /// `<T: ?Sized> Trait for Type<T> where …`, without the word `impl` or `fn`.
    pub(super) fn parse(text: &str) -> Header {
        let text = text.trim();
        let (generics, rest) =
            if text.starts_with('<') { bracketed(text).unwrap_or(("", text)) } else { ("", text) };
        let (body, conditions) = rest.split_once(" where ").unwrap_or((rest, ""));
        let mut header = Header {
            generics: split_top(generics, ','),
            body: body.trim().to_owned(),
            conditions: split_top(conditions, ','),
        };
        header.drop_allocator();
        header
    }

    /// `Arc<T, A: Allocator>` is `Arc<T>` on the stable compiler.
    fn drop_allocator(&mut self) {
        self.generics.retain(|parameter| parameter != "A" && !parameter.starts_with("A: "));
        self.conditions.retain(|condition| !condition.starts_with("A: "));
        self.body = without_allocator(&self.body);
    }
}

pub(super) fn without_allocator(text: &str) -> String {
    text.replace(", A>", ">")
}

/// The name of a generic parameter: `'a`, `T`, `const N`.
fn name_of(parameter: &str) -> &str {
    let name = parameter.split([':', '=']).next().unwrap_or(parameter).trim();
    name.strip_prefix("const ").unwrap_or(name)
}

/// Whether the type that implements may lack a size.
fn this_is_unsized(header: &Header, this: &str) -> bool {
    let relaxed = |text: &String| text.contains("?std::marker::Sized");
    this.contains('[') || header.generics.iter().chain(&header.conditions).any(relaxed)
}

/// Whether a generic parameter is a type, by its name: `N` is what std calls constants.
fn is_type(name: &str) -> bool {
    name != "N"
}

/// Lifetimes that are left out get a name.
fn with_lifetime(text: &str, lifetime: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        if c == '&' && chars.peek() != Some(&'\'') && chars.peek() != Some(&'&') {
            out.push_str(lifetime);
            out.push(' ');
        }
    }
    out.replace("'_", lifetime)
}

/// Generics and conditions as they stand in a declaration, lifetimes first.
fn declared(generics: &[String], conditions: &[String]) -> (String, String) {
    let (lifetimes, types): (Vec<_>, Vec<_>) = generics.iter().cloned().partition(|p| p.starts_with('\''));
    let all: Vec<_> = lifetimes.into_iter().chain(types).collect();
    let conditions =
        if conditions.is_empty() { String::new() } else { format!(" where {}", conditions.join(", ")) };
    (if all.is_empty() { String::new() } else { format!("<{}>", all.join(", ")) }, conditions)
}

/// A function that calls the function or method with exactly its signature. `owner`: the header of the implementation;
/// `call`: the path of a function that is no method.
pub(super) fn caller(number: usize, owner: Option<&Header>, call: &str, signature: &str) -> Option<String> {
    let (words, rest) = signature.split_once("fn ")?;
    let at = rest.find(['<', '('])?;
    let (name, rest) = (&rest[..at], &rest[at..]);
    let (generics, rest) = if rest.starts_with('<') { bracketed(rest)? } else { ("", rest) };
    let (parameters, rest) = bracketed(rest.trim())?;
    let mut own = Header::parse(&format!("<{generics}> {rest}"));
    let mut generics: Vec<String> = own.generics.clone();
    // The receiver's type, with a name for the lifetime that is left out in it.
    let mut this = String::new();
    if let Some(owner) = owner {
        this = owner.body.clone();
        generics.extend(owner.generics.iter().cloned());
        own.conditions.extend(owner.conditions.iter().cloned());
        if this.contains("'_") {
            this = this.replace("'_", "'anon");
            generics.push("'anon".to_owned());
        }
    }
    let (mut types, mut borrowed) = (Vec::new(), false);
    for parameter in split_top(parameters, ',') {
        let (left, right) = match parameter.split_once(": ") {
            Some((left, right)) => (left.to_owned(), right.to_owned()),
            None => (parameter.clone(), String::new()),
        };
        types.push(match left.trim_start_matches("mut ") {
            "self" if right.is_empty() => "Self".to_owned(),
            "&self" | "&mut self" => {
                borrowed = true;
                left.replace("self", "Self").replacen('&', "&'this ", 1)
            }
            other if right.is_empty() => other.replace("self", "Self"),
            _ => right,
        });
    }
    let mut returned = own.body.trim_start_matches("->").trim().to_owned();
    if borrowed {
        generics.push("'this".to_owned());
        returned = with_lifetime(&returned, "'this");
    }
    let own_type = |text: &str| text.replace("Self::", &format!("<{this}>::")).replace("Self", &this);
    let parameters: Vec<_> =
        types.iter().enumerate().map(|(i, t)| format!("p{i}: {}", without_allocator(&own_type(t)))).collect();
    let arguments: Vec<_> = (0..types.len()).map(|i| format!("p{i}")).collect();
    let returned = if returned.is_empty() { String::new() } else { format!(" -> {}", own_type(&returned)) };
    let (generics, conditions) = declared(&generics, &own.conditions);
    let constant = if words.contains("const") { "const " } else { "" };
    let danger = if words.contains("unsafe") { "unsafe " } else { "" };
    let path = if owner.is_some() { format!("<{this}>::{name}") } else { call.to_owned() };
    let (open, close) = if danger.is_empty() { ("", "") } else { ("unsafe { ", " }") };
    Some(format!(
        "{constant}{danger}fn f{number}{generics}({}){}{} {{ {open}{path}({}){close} }}",
        parameters.join(", "),
        without_allocator(&returned),
        own_type(&conditions),
        arguments.join(", ")
    ))
}

/// Functions that compile only if the implementation exists in this generality; for a negative one, only if it does
/// not exist for a type whose parameters are all `u8`.
pub(super) fn holder(number: usize, header: &str) -> Option<String> {
    let header = Header::parse(header.strip_prefix("impl")?);
    let (bound, this) = header.body.split_once(" for ")?;
    let bound = bound.trim_start_matches("const ");
    if let Some(bound) = bound.strip_prefix('!') {
        let this = header.generics.iter().fold(this.replace("'_", "'static"), |this, parameter| {
            let name = name_of(parameter);
            let value = if name.starts_with('\'') { "'static" } else { "u8" };
            replace_word(&this, name, value)
        });
        return Some(format!("fn f{number}() {{ lacks!({this}: {bound}); }}"));
    }
    let mut generics = header.generics.clone();
    let (bound, this) = (with_lifetime(bound, "'anon"), with_lifetime(this, "'anon"));
    if bound.contains("'anon") || this.contains("'anon") {
        generics.push("'anon".to_owned());
    }
    let mut arguments: Vec<_> =
        generics.iter().map(|p| name_of(p).to_owned()).filter(|p| !p.starts_with('\'')).collect();
    arguments.push(this);
    let mut needs = header.conditions.clone();
    // What an implementation may assume, a function has to say: types outlive the lifetimes beside them.
    for lifetime in generics.iter().map(|p| name_of(p)).filter(|name| name.starts_with('\'')) {
        let types = arguments.iter().take(arguments.len() - 1).filter(|name| is_type(name));
        needs.extend(types.map(|name| format!("{name}: {lifetime}")));
    }
    let shape = WELL_FORMED.iter().filter(|(part, _)| header.body.contains(part));
    needs.extend(shape.map(|(_, condition)| (*condition).to_owned()));
    let (declared_generics, conditions) = declared(&generics, &needs);
    needs.push(format!("This: {bound}"));
    // Traits that compare with their own type by default want a size.
    let unsized_ = this_is_unsized(&header, arguments.last().map_or("", String::as_str));
    generics.push(if unsized_ { "This: ?std::marker::Sized" } else { "This" }.to_owned());
    let (with_this, all) = declared(&generics, &needs);
    Some(format!(
        "fn g{number}{with_this}(){all} {{}}\nfn f{number}{declared_generics}(){conditions} {{ g{number}::<{}>() }}",
        arguments.join(", ")
    ))
}

/// Replaces a word where it stands alone.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let end = at + word.len();
        let alone =
            !rest[..at].ends_with(is_word) && !rest[..at].ends_with(':') && !rest[end..].starts_with(is_word);
        out.push_str(&rest[..at]);
        out.push_str(if alone { by } else { word });
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_called_with_their_signature() {
        let owner = Header::parse("<T: ?s::Sized, A: s::Allocator> s::M<T, A> where A: Clone");
        let text = caller(
            1,
            Some(&owner),
            "",
            "pub fn a<U>(&self, u: (U, u8)) -> s::G<'_, T> where U: Fn(&mut T) -> bool",
        );
        let expected = "fn f1<'this, U, T: ?s::Sized>(p0: &'this s::M<T>, p1: (U, u8)) -> s::G<'this, T> where \
                        U: Fn(&mut T) -> bool { <s::M<T>>::a(p0, p1) }";
        assert_eq!(text.as_deref(), Some(expected));
        let text = caller(2, None, "s::spawn", "pub const unsafe fn spawn()");
        assert_eq!(text.as_deref(), Some("const unsafe fn f2() { unsafe { s::spawn() } }"));
    }

    #[test]
    fn implementations_are_asked_for() {
        let text = holder(3, "impl<T> s::From<&T> for s::M<T> where T: Copy").unwrap();
        let expected = "fn g3<'anon, T, This>() where T: Copy, T: 'anon, This: s::From<&'anon T> {}\n\
                        fn f3<'anon, T>() where T: Copy, T: 'anon { g3::<T, s::M<T>>() }";
        assert_eq!(text, expected);
        assert_eq!(
            holder(4, "impl<T> !s::Send for s::G<'_, T>").unwrap(),
            "fn f4() { lacks!(s::G<'static, u8>: s::Send); }"
        );
    }
}
