//! Writes down std's public surface: `cargo run -p ci -- surface` reads the documentation that is installed with the
//! toolchain and writes the tables in `icb-std/tests/surface`, by which the mirror is compared with std item by item. The
//! tables are committed, because a fresh machine need not have the documentation; run this again for a new toolchain.

mod page;
mod signature;

use page::Page;
use signature::{Header, caller, holder};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules of which methods and implementations are compared too; of all others the names.
const MIRRORED: [&str; 10] =
    ["cell", "future", "hint", "panic", "sync", "sync::atomic", "sync::mpsc", "task", "thread", "time"];

/// Parts of std that other platforms have, and what is stable there only by accident (from Rust 1.101 on it is an error).
const LEFT_OUT: [&str; 4] = ["intrinsics/", "os/darwin/", "os/wasi/", "os/windows/"];

/// Implementations and methods that stable source cannot name, although they are not marked as unstable themselves.
const REASONS: [(&str, &str); 4] = [
    ("sync::Arc::make_mut", "its bound is the unstable `CloneToUninit`; exercised in `parity/arc.rs`"),
    (
        " std::ops::FnOnce() for std::panic::AssertUnwindSafe<F>",
        "how it is called cannot be written; it is std's own type",
    ),
    (
        " std::ops::Drop for std::sync::LazyLock<T, F>",
        "the mirror's fields drop themselves; no program can tell",
    ),
    (
        " std::ops::Drop for std::sync::OnceLock<T>",
        "the mirror's fields drop themselves; no program can tell",
    ),
];

/// One line of a table.
struct Item {
    /// `method sync::Mutex::lock`.
    title: String,
    code: String,
}

#[derive(Default)]
struct Tables {
    /// Of std.
    version: String,
    names: Vec<Item>,
    functions: Vec<Item>,
    implementations: Vec<Item>,
    exceptions: Vec<(String, String)>,
}

struct Reader {
    root: PathBuf,
    pages: HashMap<String, Option<bool>>,
}

/// Writes the tables.
pub(super) fn run(root: &Path) -> Result<String, String> {
    let tables = read()?;
    let folder = root.join("icb-std/tests/surface");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in tables.files() {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(tables.count())
}

/// The tables as the installed documentation has them.
fn read() -> Result<Tables, String> {
    let output = std::process::Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = output.map_err(|error| format!("rustc: {error}"))?.stdout;
    let sysroot = String::from_utf8_lossy(&sysroot).trim().to_owned();
    let docs = Path::new(&sysroot).join("share/doc/rust/html/std");
    let all = fs::read_to_string(docs.join("all.html")).map_err(|error| {
        format!("{}: {error}; install the documentation: rustup component add rust-docs", docs.display())
    })?;
    let version = all.split_once("<span class=\"version\">").and_then(|(_, rest)| rest.split_once('<'));
    let version = version.map(|(version, _)| version.to_owned()).unwrap_or_default();
    let mut reader = Reader { root: docs, pages: HashMap::new() };
    let mut tables = Tables { version, ..Tables::default() };
    for link in all.split("<li><a href=\"").skip(1) {
        let Some((file, rest)) = link.split_once("\">") else { continue };
        let Some((path, _)) = rest.split_once("</a>") else { continue };
        if file.starts_with('#') || LEFT_OUT.iter().any(|folder| file.starts_with(folder)) {
            continue;
        }
        reader.item(file, &path.replace("<wbr>", ""), &mut tables)?;
    }
    Ok(tables)
}

impl Reader {
    fn item(&mut self, file: &str, path: &str, tables: &mut Tables) -> Result<(), String> {
        let kind = file.rsplit('/').next().unwrap_or(file).split('.').next().unwrap_or_default();
        if ["primitive", "keyword", "attr", "derive"].contains(&kind) {
            return Ok(());
        }
        let html = fs::read_to_string(self.root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        let page = Page::parse(&html);
        if !page.stable {
            return Ok(());
        }
        let raw = if path == "try" { "r#try" } else { path };
        let code = format!("use s::{raw} as n{};", tables.names.len());
        tables.names.push(Item { title: format!("{kind} {path}"), code });
        let module = path.rsplit_once("::").map_or("", |(module, _)| module);
        if !MIRRORED.contains(&module) {
            return Ok(());
        }
        if kind == "fn" {
            self.function(path, None, &page.declaration, tables);
        }
        if ["struct", "enum"].contains(&kind) {
            for found in &page.inherent {
                let Some(header) = found.header.strip_prefix("impl") else { continue };
                let header = Header::parse(header);
                for method in found.methods.iter().filter(|method| method.stable) {
                    let title = format!("{path}::{}", method.name);
                    self.function(&title, Some((&header, &found.header)), &method.signature, tables);
                }
            }
            for header in &page.traits {
                self.implementation(header, tables);
            }
        }
        Ok(())
    }

    fn function(&mut self, path: &str, owner: Option<(&Header, &str)>, signature: &str, tables: &mut Tables) {
        let text = format!("{} {signature}", owner.map_or("", |(_, text)| text));
        let number = tables.functions.len();
        if let Some((_, reason)) = REASONS.iter().find(|(name, _)| path.ends_with(name)) {
            tables.exceptions.push((format!("fn {path}"), (*reason).to_owned()));
            return;
        }
        let code = caller(number, owner.map(|(header, _)| header), &format!("std::{path}"), signature);
        let title = format!("fn {path}");
        match (self.obstacle(&text), code) {
            (None, Some(code)) => tables.functions.push(Item { title, code }),
            (reason, _) => {
                tables
                    .exceptions
                    .push((title, reason.unwrap_or_else(|| format!("cannot be read: {signature}"))));
            }
        }
    }

    fn implementation(&mut self, header: &str, tables: &mut Tables) {
        let elsewhere =
            ["std::os::windows::", "std::alloc::Allocator for "].iter().any(|what| header.contains(what));
        if elsewhere {
            return;
        }
        if let Some((_, reason)) = REASONS.iter().find(|(name, _)| header.contains(name)) {
            tables.exceptions.push((header.to_owned(), (*reason).to_owned()));
            return;
        }
        let number = tables.implementations.len();
        match (self.obstacle(header), holder(number, header)) {
            (None, Some(code)) => tables.implementations.push(Item { title: header.to_owned(), code }),
            // An implementation of an unstable trait is itself unstable.
            (Some(_), _) => {}
            (None, None) => tables.exceptions.push((header.to_owned(), "cannot be read".to_owned())),
        }
    }

    /// Why stable source cannot name what stands in this text.
    fn obstacle(&mut self, text: &str) -> Option<String> {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let unstable = text
            .split(|c: char| !is_path(c))
            .filter(|word| word.starts_with("std::") && !word.ends_with("::Allocator"))
            .find(|word| self.is_unstable(word))?;
        Some(format!("needs the unstable `{unstable}`"))
    }

    fn is_unstable(&mut self, path: &str) -> bool {
        if let Some(known) = self.pages.get(path) {
            return known.unwrap_or(false);
        }
        let parts: Vec<&str> = path.split("::").skip(1).collect();
        let Some((name, modules)) = parts.split_last() else { return false };
        let folder = modules.iter().fold(self.root.clone(), |folder, module| folder.join(module));
        let html = ["trait", "struct", "enum", "type", "union"]
            .iter()
            .find_map(|kind| fs::read_to_string(folder.join(format!("{kind}.{name}.html"))).ok());
        let unstable = html.map(|html| !Page::parse(&html).stable);
        self.pages.insert(path.to_owned(), unstable);
        unstable.unwrap_or(false)
    }
}

impl Tables {
    fn count(&self) -> String {
        let count = self.names.len() + self.functions.len() + self.implementations.len();
        format!("std {}: {count} items, {} exceptions", self.version, self.exceptions.len())
    }

    fn files(&self) -> [(&'static str, String); 4] {
        let functions = "functions and methods, called with std's own signatures";
        let line = |(title, reason): &(String, String)| format!("{title}: {reason}\n");
        [
            ("names.rs", self.table("every name that std exports", &self.names)),
            ("functions.rs", self.table(functions, &self.functions)),
            (
                "implementations.rs",
                self.table("implementations, in std's own generality", &self.implementations),
            ),
            ("exceptions.txt", self.exceptions.iter().map(line).collect()),
        ]
    }

    fn table(&self, what: &str, items: &[Item]) -> String {
        let mut text = format!(
            "//! Generated by `cargo run -p ci -- surface` from the documentation of std {}: {what}.\n//! Do not edit.\n\n\
             use super::*;\n\npub(crate) const COUNT: usize = {};\n",
            self.version,
            items.len()
        );
        for item in items {
            let code = item.code.replace("std::", "s::");
            text.push_str(&format!("\n// {}\n{code}\n", item.title));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the documentation is installed, in the version that the tables were made from, they are what it says.
    #[test]
    fn the_tables_are_std_s() {
        let Ok(tables) = read() else {
            println!("the documentation of std is not installed: nothing to compare with");
            return;
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../icb-std/tests/surface");
        for (name, text) in tables.files() {
            let committed = fs::read_to_string(folder.join(name)).unwrap();
            let other_version =
                name.ends_with(".rs") && !committed.contains(&format!("std {}:", tables.version));
            if other_version {
                println!("the tables are of another version than {}", tables.version);
                return;
            }
            assert!(committed == text, "{name} is not what `cargo run -p ci -- surface` writes");
        }
    }
}
