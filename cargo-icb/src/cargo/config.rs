//! What the user's cargo configuration says about compiler flags, and how ours are added to them.
//!
//! Cargo takes flags from one source only: `CARGO_ENCODED_RUSTFLAGS`, else `RUSTFLAGS`, else
//! `target.*.rustflags`, else `build.rustflags`. Ours must therefore go where the user's are.

use crate::exit_code::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Flags that turn the mirrored library on, in crates that name it themselves.
pub(crate) fn flags() -> Vec<String> {
    ["--cfg", "icb", "--check-cfg", "cfg(icb)"].map(str::to_owned).into()
}

/// Flags that do nothing but tell cargo that something else has changed.
pub(crate) fn keyed(name: &str, key: u64) -> [String; 4] {
    let words =
        ["--cfg", &format!("{name}=\"{key:016x}\""), "--check-cfg", &format!("cfg({name},values(any()))")];
    words.map(str::to_owned)
}

/// Cargo's separator in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: char = '\x1f';

/// How our flags reach rustc.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// As `CARGO_ENCODED_RUSTFLAGS`, the user's flags first.
    Environment(String),
    /// As an argument of cargo.
    Argument(String),
}

/// The tables of cargo's configuration, nearest first.
pub(crate) struct Config {
    tables: Vec<toml::Table>,
    /// The directories that the paths in them are relative to.
    directories: Vec<PathBuf>,
}

impl Config {
    /// Reads the files that cargo reads when it starts in a directory.
    pub(crate) fn load(directory: &Path) -> Config {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
            let home = std::env::home_dir()?;
            Some(home.join(".cargo"))
        });
        let directories = directory.ancestors().map(|ancestor| ancestor.join(".cargo")).chain(home);
        let (tables, directories) = directories
            .filter_map(|directory: PathBuf| {
                let read = |name| std::fs::read_to_string(directory.join(name));
                let table =
                    read("config.toml").or_else(|_| read("config")).ok()?.parse::<toml::Table>().ok()?;
                Some((table, directory.parent()?.to_path_buf()))
            })
            .unzip();
        Config { tables, directories }
    }

    /// The parts that say how to build, as text.
    pub(crate) fn of_builds(&self) -> String {
        let parts = ["build", "env", "host", "profile", "target", "unstable"];
        let of_builds = |table: &toml::Table| -> toml::Table {
            let of_part = |part: &str| Some((part.to_owned(), table.get(part)?.clone()));
            parts.into_iter().filter_map(of_part).collect()
        };
        self.tables.iter().map(|table| of_builds(table).to_string()).collect()
    }

    /// Reads the files that cargo reads when it starts here.
    pub(crate) fn here() -> Result<Config, Error> {
        let here = std::env::current_dir().map_err(|error| {
            Error::Usage(format!("there is no current directory ({error}); change to one that is there"))
        })?;
        Ok(Config::load(&here))
    }

    /// The target that the user has chosen in a configuration file.
    fn target(&self) -> Option<String> {
        let target = self.tables.iter().find_map(|table| table.get("build")?.get("target"))?;
        target.as_str().or_else(|| target.as_array()?.first()?.as_str()).map(str::to_owned)
    }

    /// The target that the user has chosen in the environment or in a configuration file, and where.
    pub(crate) fn chosen_target(&self) -> Option<(String, &'static str)> {
        let given = std::env::var("CARGO_BUILD_TARGET").ok().map(|target| (target, "CARGO_BUILD_TARGET"));
        given.or_else(|| Some((self.target()?, "build.target of cargo's configuration,")))
    }

    /// The names of the profiles in the configuration; `None` if it refers to files that are not read here.
    pub(crate) fn profiles(&self) -> Option<Vec<String>> {
        let tables = self.tables.iter();
        if self.tables.iter().any(|table| table.contains_key("include")) {
            return None;
        }
        let profiles = tables.filter_map(|table| table.get("profile")?.as_table());
        Some(profiles.flat_map(toml::Table::keys).cloned().collect())
    }

    /// Whether cargo is to build std itself, or the compiler to look for it elsewhere.
    pub(crate) fn brings_std(&self) -> bool {
        let variables = ["CARGO_UNSTABLE_BUILD_STD", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];
        let [build_std, flags @ ..] = variables.map(|name| std::env::var(name).ok());
        let asks =
            |table: &toml::Table| table.get("unstable").is_some_and(|table| table.get("build-std").is_some());
        build_std.is_some()
            || flags.iter().flatten().any(|flags| flags.contains("--sysroot"))
            || self.tables.iter().any(asks)
    }

    /// The user's own compiler wrapper.
    pub(crate) fn wrapper(&self) -> Option<OsString> {
        let given = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"].into_iter().find_map(std::env::var_os);
        let here = || std::env::current_dir().unwrap_or_default();
        given.map(|path| placed(path, &here())).or_else(|| self.configured_wrapper())
    }

    fn configured_wrapper(&self) -> Option<OsString> {
        self.tables.iter().zip(&self.directories).find_map(|(table, directory)| {
            let path = table.get("build")?.get("rustc-wrapper")?.as_str()?;
            Some(placed(path.into(), directory))
        })
    }

    /// What the user has programs for this target run by, with its arguments (an emulator, say); empty if they run by themselves. What stands
    /// under a `cfg(…)` is not looked at.
    pub(crate) fn runner(&self, triple: &str) -> Vec<OsString> {
        let given = std::env::var(target_variable(triple, "RUNNER")).ok();
        let here = || std::env::current_dir().unwrap_or_default();
        given.map_or_else(
            || self.configured_runner(triple),
            |text| command_words(text.split_whitespace(), &here()),
        )
    }

    fn configured_runner(&self, triple: &str) -> Vec<OsString> {
        let found = self.tables.iter().zip(&self.directories).find_map(|(table, directory)| {
            let runner = table.get("target")?.get(triple)?.get("runner")?;
            let list = runner.as_array().map(Vec::as_slice).unwrap_or_default();
            let list = list.iter().filter_map(toml::Value::as_str);
            let words = runner.as_str().map(str::split_whitespace);
            Some(command_words(words.into_iter().flatten().chain(list), directory))
        });
        found.unwrap_or_default()
    }

    /// How our flags are to be added, given the two variables of the environment.
    pub(crate) fn route(
        &self,
        flags: &[String],
        encoded: Option<&str>,
        plain: Option<&str>,
        triple: &str,
    ) -> Route {
        let separator = SEPARATOR.to_string();
        let ours = flags.join(separator.as_str());
        if let Some(users) = encoded.filter(|users| !users.is_empty()) {
            return Route::Environment(format!("{users}{SEPARATOR}{ours}"));
        }
        if let Some(users) = plain {
            let words = users.split_whitespace().chain(flags.iter().map(String::as_str));
            return Route::Environment(words.collect::<Vec<_>>().join(&separator));
        }
        let list = flags.iter().map(|flag| format!("'{flag}'")).collect::<Vec<_>>().join(",");
        let key = if self.has_target_flags(triple) { "target.'cfg(all())'" } else { "build" };
        Route::Argument(format!("{key}.rustflags=[{list}]"))
    }

    /// The configurations that the user's compiler flags turn on, wherever they stand.
    pub(crate) fn users_cfgs(&self) -> Vec<String> {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let plain = format!("{} {}", variable("RUSTFLAGS"), variable("CARGO_BUILD_RUSTFLAGS"));
        let mut words: Vec<String> = variable("CARGO_ENCODED_RUSTFLAGS")
            .split(SEPARATOR)
            .chain(plain.split_whitespace())
            .map(str::to_owned)
            .collect();
        for table in &self.tables {
            let targets = table.get("target").and_then(toml::Value::as_table).into_iter();
            let targets = targets.flat_map(toml::Table::values);
            for flags in targets.chain(table.get("build")).filter_map(|table| table.get("rustflags")) {
                match (flags.as_str(), flags.as_array()) {
                    (Some(text), _) => words.extend(text.split_whitespace().map(str::to_owned)),
                    (_, list) => {
                        let list = list.into_iter().flatten().filter_map(toml::Value::as_str);
                        words.extend(list.map(str::to_owned));
                    }
                }
            }
        }
        let named = words.iter().filter_map(|word| word.strip_prefix("--cfg="));
        let after = words.windows(2).filter(|pair| pair[0] == "--cfg").map(|pair| pair[1].as_str());
        named.chain(after).map(str::to_owned).collect()
    }

    fn has_target_flags(&self, triple: &str) -> bool {
        let variable = target_variable(triple, "RUSTFLAGS");
        let in_file = |table: &toml::Table| {
            table.get("target").and_then(toml::Value::as_table).is_some_and(|targets| {
                let ours = |key: &str| key == triple || key.starts_with("cfg(");
                targets.iter().any(|(key, target)| ours(key) && target.get("rustflags").is_some())
            })
        };
        std::env::var_os(variable).is_some() || self.tables.iter().any(in_file)
    }

    /// The variables of the `[env]` tables, with which cargo runs tests; `root` is the workspace.
    pub(crate) fn environment(&self, root: &Path) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        for (name, value) in self.tables.iter().filter_map(|table| table.get("env")?.as_table()).flatten() {
            let flag = |key: &str| value.get(key).and_then(toml::Value::as_bool).unwrap_or(false);
            let Some(text) = value.as_str().or_else(|| value.get("value")?.as_str()) else { continue };
            let taken = variables.iter().any(|(other, _)| other == name.as_str());
            if taken || (std::env::var_os(name).is_some() && !flag("force")) {
                continue;
            }
            let text = if flag("relative") { root.join(text).into_os_string() } else { text.into() };
            variables.push((name.into(), text));
        }
        variables
    }
}

/// The variable in which cargo looks for a setting of a target.
fn target_variable(triple: &str, setting: &str) -> String {
    format!("CARGO_TARGET_{}_{setting}", triple.to_uppercase().replace(['-', '.'], "_"))
}

/// A command whose program is looked for in the path, unless a directory stands before its name: relative to this one.
fn command_words<'a>(words: impl Iterator<Item = &'a str>, directory: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.map(OsString::from).collect();
    if let Some(program) = words.first_mut() {
        *program = placed(std::mem::take(program), directory);
    }
    words
}

/// A program that is looked for in the path, unless a directory stands before its name: relative to this one.
fn placed(program: OsString, directory: &Path) -> OsString {
    if program.to_string_lossy().contains('/') { directory.join(program).into_os_string() } else { program }
}

/// The value of `RUSTC_BOOTSTRAP` under which these crates may use unstable features, besides those that the user names.
pub(crate) fn bootstrap(users: Option<&str>, crates: &[&str]) -> String {
    if users == Some("1") {
        return "1".to_owned();
    }
    let mut list: Vec<&str> = users.unwrap_or_default().split(',').filter(|name| !name.is_empty()).collect();
    for name in crates {
        if !list.contains(name) {
            list.push(name);
        }
    }
    list.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config { tables: vec![text.parse().unwrap()], directories: vec![PathBuf::from("/c")] }
    }

    #[test]
    fn configurations_are_found_where_they_stand() {
        let text =
            "[build]\nrustflags = '--cfg a -O'\n[target.'cfg(all())']\nrustflags = ['--cfg=b', '--cfg', 'c']";
        let found = config(text).users_cfgs();
        assert!(["a", "b", "c"].iter().all(|name| found.iter().any(|found| found == name)), "{found:?}");
    }

    const LIST: &str = "['--cfg','icb','--check-cfg','cfg(icb)']";

    #[test]
    fn our_flags_go_where_the_users_are() {
        let none = config("");
        assert_eq!(none.route(&flags(), None, None, "t"), Route::Argument(format!("build.rustflags={LIST}")));
        let Route::Environment(given) = none.route(&flags(), None, Some("-Copt-level=1  --cfg x"), "t")
        else {
            panic!()
        };
        assert_eq!(given.replace('\x1f', " "), "-Copt-level=1 --cfg x --cfg icb --check-cfg cfg(icb)");
        let Route::Environment(given) = none.route(&flags(), Some("-a\x1fb c"), Some("-d"), "t") else {
            panic!()
        };
        assert_eq!(given.replace('\x1f', "|"), "-a|b c|--cfg|icb|--check-cfg|cfg(icb)");
        let build = config("[build]\nrustflags = ['--cfg', 'x']");
        assert_eq!(build.route(&flags(), None, None, "t"), none.route(&flags(), None, None, "t"));
        for text in ["[target.t]\nrustflags = []", "[target.'cfg(unix)']\nrustflags = 'x'"] {
            let expected = Route::Argument(format!("target.'cfg(all())'.rustflags={LIST}"));
            assert_eq!(config(text).route(&flags(), None, None, "t"), expected, "{text}");
        }
        let other = config("[target.other]\nrustflags = []");
        assert_eq!(other.route(&flags(), None, None, "t"), none.route(&flags(), None, None, "t"));
    }

    #[test]
    fn a_key_is_a_flag_that_says_nothing() {
        let flags = keyed("k", 10);
        assert_eq!(flags.join(" "), "--cfg k=\"000000000000000a\" --check-cfg cfg(k,values(any()))");
    }

    #[test]
    fn a_users_bootstrap_value_is_kept() {
        for (users, expected) in [
            (None, "icb_std"),
            (Some("1"), "1"),
            (Some("a"), "a,icb_std"),
            (Some("a,icb_std"), "a,icb_std"),
            (Some(""), "icb_std"),
        ] {
            assert_eq!(bootstrap(users, &["icb_std"]), expected);
        }
    }

    #[test]
    fn a_users_wrapper_and_target_are_found() {
        let config = config("[build]\ntarget = ['t', 'u']\nrustc-wrapper = 'tools/wrap'");
        assert_eq!(config.target().as_deref(), Some("t"));
        assert_eq!(config.configured_wrapper(), Some("/c/tools/wrap".into()));
    }

    #[test]
    fn a_users_runner_is_found() {
        for (text, expected) in [
            ("", &[][..]),
            ("[target.t]\nrunner = 'emulate -L /lib'", &["emulate", "-L", "/lib"]),
            ("[target.t]\nrunner = ['tools/a b', 'c d']", &["/c/tools/a b", "c d"]),
            ("[target.other]\nrunner = 'emulate'", &[]),
        ] {
            assert_eq!(config(text).configured_runner("t"), expected, "{text}");
        }
        assert_eq!(target_variable("a-b.c", "RUNNER"), "CARGO_TARGET_A_B_C_RUNNER");
    }

    #[test]
    fn variables_for_tests_are_read() {
        let text = "[env]\nICB_X_ONE = 'a'\nICB_X_TWO = { value = 'b', relative = true }\nPATH = 'c'";
        let variables = config(text).environment(Path::new("/w"));
        let expected = [("ICB_X_ONE", "a"), ("ICB_X_TWO", "/w/b")];
        assert_eq!(variables, expected.map(|(name, value)| (name.into(), value.into())));
    }
}
