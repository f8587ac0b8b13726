//! What manifests may say in `[package.metadata.icb]` and `[workspace.metadata.icb]`: lists of packages, and nothing else. Reads no file.

use crate::exit_code::Error;
use crate::nearest::did_you_mean;
use serde_json::Value;
use std::path::Path;

/// The lists.
const LISTS: [&str; 3] = ["except", "instrument", "only"];

/// Refuses what would have no effect. `section`: `package` or `workspace`; `metadata`: what cargo tells of its table.
///
/// # Errors
/// In one sentence.
pub(super) fn check(path: &Path, section: &str, metadata: &Value) -> Result<(), Error> {
    let Some(settings) = metadata.get("icb") else { return Ok(()) };
    let wrong =
        |what: String| Err(Error::Usage(format!("{}: [{section}.metadata.icb] {what}", path.display())));
    let Some(settings) = settings.as_object() else {
        return wrong(
            "is no table; write it as one, such as instrument = [\"spin\"] below that line".to_owned(),
        );
    };
    for (name, value) in settings {
        if !LISTS.contains(&name.as_str()) {
            return wrong(format!(
                "has no setting `{name}`{}; it has {}, and all others are options of the command line or variables",
                did_you_mean(name, LISTS),
                LISTS.join(", ")
            ));
        }
        if !value.as_array().is_some_and(|list| list.iter().all(Value::is_string)) {
            let example = value.as_str().unwrap_or("PACKAGE");
            return wrong(format!(
                "says in `{name}` what is no list of names; write {name} = [\"{example}\"]"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_no_effect_is_refused() {
        let said = |metadata: &Value| {
            check(Path::new("a/Cargo.toml"), "package", metadata).err().map(|error| error.to_string())
        };
        for fine in [
            Value::Null,
            json!({ "docs": { "only": 3 } }),
            json!({ "icb": {} }),
            json!({ "icb": { "only": ["a"], "except": [], "instrument": ["spin"] } }),
        ] {
            assert_eq!(said(&fine), None, "{fine}");
        }
        let wrong = "a/Cargo.toml: [package.metadata.icb] ";
        for (settings, words) in [
            (
                json!({ "except": "bank" }),
                "says in `except` what is no list of names; write except = [\"bank\"]",
            ),
            (
                json!({ "only": ["a", 3] }),
                "says in `only` what is no list of names; write only = [\"PACKAGE\"]",
            ),
            (
                json!({ "expect": ["bank"] }),
                "has no setting `expect` (did you mean `except`?); it has except, ",
            ),
            (json!({ "instruments": [] }), "has no setting `instruments` (did you mean `instrument`?)"),
            (
                json!({ "max_bound": 3 }),
                "has no setting `max_bound`; it has except, instrument, only, and all others",
            ),
            (json!(["spin"]), "is no table; write it as one"),
        ] {
            let said = said(&json!({ "icb": settings })).unwrap_or_default();
            assert!(said.starts_with(&format!("{wrong}{words}")), "{said}");
        }
    }
}
