//! Reads a page of rustdoc's HTML: which implementations and methods it shows, with their signatures as Rust text in
//! which every linked name is a path. Knows text only: where pages come from and what becomes of the signatures is no
//! concern of it.

/// One implementation block.
#[derive(Debug, Default)]
pub(super) struct Impl {
    /// `impl<T: ?Sized> std::sync::Mutex<T>`, or with `Trait for`.
    pub(super) header: String,
    pub(super) methods: Vec<Method>,
}

/// One method of an inherent implementation.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: String,
    /// `pub fn lock(&self) -> …`.
    pub(super) signature: String,
    pub(super) stable: bool,
}

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) stable: bool,
    /// The declaration at its top.
    pub(super) declaration: String,
    pub(super) inherent: Vec<Impl>,
    /// Headers of trait implementations, without those that hold for every type.
    pub(super) traits: Vec<String>,
}

impl Page {
    pub(super) fn parse(html: &str) -> Page {
        let main = after(html, "<section id=\"main-content\"").unwrap_or(html);
        let head = before(main, "<details class=\"toggle top-doc\"").unwrap_or(main);
        let head = before(head, "<h2 ").unwrap_or(head);
        let declaration = between(head, "<pre class=\"rust item-decl\"><code>", "</code></pre>").map(text);
        let mut traits = Vec::new();
        for id in ["trait-implementations", "synthetic-implementations"] {
            traits.extend(implementations(section(main, id)).into_iter().map(|found| found.header));
        }
        Page {
            stable: !head.contains("class=\"stab unstable\""),
            declaration: declaration.unwrap_or_default(),
            inherent: implementations(section(main, "implementations")),
            traits,
        }
    }
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}

fn before<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[..at])
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    before(after(text, open)?, close)
}

/// What stands under the heading with this id, up to the next heading.
fn section<'a>(html: &'a str, id: &str) -> &'a str {
    let Some(rest) = after(html, &format!("<h2 id=\"{id}\"")) else { return "" };
    before(rest, "<h2 ").unwrap_or(rest)
}

fn implementations(html: &str) -> Vec<Impl> {
    let mut found: Vec<Impl> = Vec::new();
    for part in html.split("<section id=\"").skip(1) {
        let Some((id, rest)) = part.split_once('"') else { continue };
        let unstable = rest
            .split_once("</section>")
            .and_then(|(_, tail)| tail.split_once("</summary>"))
            .is_some_and(|(notes, _)| notes.contains("class=\"stab unstable\""));
        if let Some(header) = between(rest, "<h3 class=\"code-header\">", "</h3>") {
            found.push(Impl { header: text(header), methods: Vec::new() });
        } else if let (Some(name), Some(signature), Some(open)) = (
            id.strip_prefix("method."),
            between(rest, "<h4 class=\"code-header\">", "</h4>"),
            found.last_mut(),
        ) {
            // A name that stands twice on a page is numbered: `method.new-1`.
            let name = name.split('-').next().unwrap_or(name).to_owned();
            open.methods.push(Method { name, signature: text(signature), stable: !unstable });
        }
    }
    found
}

/// HTML as Rust text; names that link to an item become its path.
fn text(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('>') else { break };
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if tag.starts_with("div") {
            out.push(' ');
        }
        let Some(path) = path_of(tag) else { continue };
        let Some((name, tail)) = rest.split_once("</a>") else { continue };
        let plain = name.replace("<wbr>", "");
        let item = path.ends_with(&format!("::{plain}"));
        out.push_str(if item { path } else { &plain });
        rest = tail;
    }
    out.push_str(rest);
    let out = out.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'").replace("&quot;", "\"");
    // The mark of a tooltip is none of Rust's.
    let out = out.replace("&nbsp;", " ").replace("&amp;", "&").replace('ⓘ', "");
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The path in the title of a link to an item that can stand in a signature.
fn path_of(tag: &str) -> Option<&str> {
    let class = between(tag, "class=\"", "\"")?;
    if !["struct", "enum", "union", "trait", "type", "constant"].contains(&class) {
        return None;
    }
    between(tag, "title=\"", "\"")?.split_once(' ').map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &str = "<section id=\"main-content\"><pre class=\"rust item-decl\"><code>pub struct M&lt;T&gt;</code></pre>\
        <h2 id=\"implementations\">x</h2><section id=\"impl-M\" class=\"impl\"><h3 class=\"code-header\">impl&lt;T: \
        ?<a class=\"trait\" href=\"..\" title=\"trait std::marker::Sized\">Sized</a>&gt; <a class=\"struct\" href=\"..\" \
        title=\"struct std::sync::M\">M</a>&lt;T&gt;</h3></section></summary><section id=\"method.a\"><h4 \
        class=\"code-header\">pub fn <a href=\"#method.a\" class=\"fn\">a</a>(&amp;self)</h4></section></summary>\
        <section id=\"method.b-1\"><h4 class=\"code-header\">pub fn b()<div class=\"where\">where T: Copy</div></h4>\
        </section><span class=\"stab unstable\"></span></summary><h2 id=\"trait-implementations\">x</h2><section \
        id=\"impl-Debug-for-M\" class=\"impl\"><h3 class=\"code-header\">impl&lt;T&gt; Debug for M</h3></section>";

    #[test]
    fn a_page_is_read() {
        let page = Page::parse(HTML);
        assert!(page.stable);
        assert_eq!((page.declaration.as_str(), page.traits.len()), ("pub struct M<T>", 1));
        assert_eq!(page.inherent[0].header, "impl<T: ?std::marker::Sized> std::sync::M<T>");
        let methods: Vec<_> = page.inherent[0].methods.iter().map(|m| (m.name.as_str(), m.stable)).collect();
        assert_eq!(methods, [("a", true), ("b", false)]);
        assert_eq!(page.inherent[0].methods[1].signature, "pub fn b() where T: Copy");
    }
}
