//! The layers of `icb-core`: which module may import which. They are read from the table in `icb-core/src/lib.rs`, so
//! that the table is the rule. Works on text: it knows no file system.

/// The lines of the table, highest first, each with the modules on it.
#[derive(Debug)]
pub(crate) struct Layers(Vec<Vec<String>>);

impl Layers {
    /// Reads the table: the first block between "```text" and "```" in the documentation of the crate. A line holds
    /// module names, separated by `|` or spaces, and after at least two spaces what they are about.
    pub(crate) fn parse(lib: &str) -> Result<Layers, String> {
        let lines = lib.lines().filter_map(|line| line.strip_prefix("//!")).map(|line| line.trim_end());
        let table =
            lines.skip_while(|line| line.trim() != "```text").skip(1).take_while(|line| line.trim() != "```");
        let declared: Vec<&str> = lib
            .lines()
            .filter_map(|line| line.strip_suffix(';')?.rsplit_once("mod "))
            .map(|(_, name)| name)
            .collect();
        let mut found = Vec::new();
        for line in table {
            let words = line.split([' ', '|']).filter(|word| !word.is_empty());
            found.push(words.take_while(|word| is_module(word)).map(str::to_owned).collect::<Vec<_>>());
        }
        // Words that explain a line look like modules; only what is declared counts.
        for line in &mut found {
            line.retain(|name| declared.contains(&name.as_str()));
        }
        let layers = Layers(found);
        match declared.iter().find(|name| layers.line_of(name).is_none()) {
            _ if layers.0.iter().all(Vec::is_empty) => Err("there is no table of layers".to_owned()),
            Some(name) => Err(format!("the table of layers does not place the module `{name}`")),
            None => Ok(layers),
        }
    }

    fn line_of(&self, module: &str) -> Option<usize> {
        self.0.iter().position(|line| line.iter().any(|name| name == module))
    }

    /// Whether a module may import another.
    pub(crate) fn allows(&self, module: &str, imported: &str) -> bool {
        module == imported
            || match (self.line_of(module), self.line_of(imported)) {
                (Some(own), Some(other)) => other > own,
                _ => false,
            }
    }

    /// What a file of this module imports against the rule, with line numbers.
    pub(crate) fn violations(&self, module: &str, source: &str) -> Vec<String> {
        let imports = imports(source);
        let wrong = imports.iter().filter(|(_, imported)| !self.allows(module, imported));
        wrong
            .map(|(line, imported)| match self.line_of(imported) {
                Some(_) => format!(
                    "line {line}: `{module}` must not import from `{imported}`, which does not lie below it"
                ),
                None => format!("line {line}: `crate::{imported}` is no layer; import it from its module"),
            })
            .collect()
    }
}

fn is_module(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// The modules of its own crate that a source names, with line numbers: `crate::NAME` and `crate::{NAME…, …}`.
fn imports(source: &str) -> Vec<(usize, String)> {
    let code = without_comments(source);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let line = code[..at].lines().count().max(1) + usize::from(code[..at].ends_with('\n'));
        let rest = &code[at + "crate::".len()..];
        let names = match rest.strip_prefix('{') {
            Some(group) => top_level_names(group),
            None => vec![first_name(rest)],
        };
        found.extend(names.into_iter().filter(|name| !name.is_empty()).map(|name| (line, name)));
    }
    found
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first names of the members of a group `{a::x, b::{y, z}, c}`; the opening brace is gone.
fn top_level_names(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut begins = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                names.push(first_name(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

/// The source with comments blanked out, lines kept.
pub(crate) fn without_comments(source: &str) -> String {
    let blank = |line: &str| match line.find("//") {
        // Not the `//` of an address in a text.
        Some(at) if !line[..at].ends_with(':') => line[..at].to_owned(),
        _ => line.to_owned(),
    };
    source.lines().map(blank).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "//! Layers:\n//!\n//! ```text\n//! worker            one process\n//! search | runtime\n\
                       //! recording  memory what happened\n//! trace             plain data\n//! ```\n\n\
                       pub mod trace;\n#[cfg(x)]\npub mod worker;\npub mod search;\npub mod runtime;\n\
                       pub mod recording;\nmod memory;\n";

    fn violations(module: &str, source: &str) -> Vec<String> {
        Layers::parse(LIB).unwrap().violations(module, source)
    }

    #[test]
    fn imports_from_below_are_allowed() {
        let source =
            "use crate::trace::{A, B};\nuse crate::{memory::race, recording::{Tape, Log}};\nuse super::x;";
        assert_eq!(violations("search", source), [""; 0]);
        assert_eq!(violations("search", "use crate::search::frontier::Frontier;"), [""; 0]);
        assert_eq!(violations("search", "// use crate::worker::X;\n/// [`crate::worker`]\n"), [""; 0]);
    }

    #[test]
    fn a_wrong_import_is_found() {
        for (module, source, line, imported) in [
            ("trace", "//! x\nuse crate::worker::Builder;", 2, "worker"),
            ("search", "\n\nuse crate::runtime::Execution;", 3, "runtime"),
            ("memory", "use crate::recording::Tape;", 1, "recording"),
            ("runtime", "use crate::{trace::A, search::{B, C}};", 1, "search"),
            ("recording", "fn f() {\n    crate::search::x();\n}", 2, "search"),
        ] {
            let found = violations(module, source);
            assert_eq!(found.len(), 1, "{source}: {found:?}");
            assert!(found[0].starts_with(&format!("line {line}: ")), "{found:?}");
            assert!(found[0].contains(&format!("`{module}` must not import from `{imported}`")), "{found:?}");
        }
        assert!(violations("search", "use crate::Thing;")[0].contains("is no layer"));
    }

    #[test]
    fn every_module_must_be_placed() {
        let error = Layers::parse(&format!("{LIB}pub mod stray;\n")).unwrap_err();
        assert!(error.contains("`stray`"), "{error}");
        assert!(Layers::parse("//! no table\n").is_err());
    }
}
