//! `ICB_*` variables that no option takes: none of them is dropped in silence. Which variables the options take, their definition says.

use crate::cli::Cli;
use crate::nearest::nearest;
use clap::CommandFactory;
use std::collections::BTreeSet;

/// How all variables begin.
pub(crate) const PREFIX: &str = "ICB_";

/// Variables that tests obey by themselves, but not where `cargo icb` steers them, and what there is instead.
const OF_TESTS: [(&str, &str); 7] = [
    ("ICB_KEEP_GOING", "a search ends with the first failure of a test"),
    ("ICB_MEASURED_EXECUTIONS", "`cargo icb coverage` counts blocking steps"),
    ("ICB_REPLAY", "`cargo icb replay TEST` takes it as its --schedule"),
    ("ICB_REPLAY_MODEL", "`cargo icb replay TEST` takes it as its --model"),
    ("ICB_SHARD", "`cargo icb test --shard K/N` does one part of a search"),
    ("ICB_SPILL", "`cargo icb test --spill` keeps what is left for the next bound in the target directory"),
    ("ICB_WORKERS", "--jobs says how many processes search at a time"),
];

/// Why `cargo icb coverage` searches without spurious wake-ups.
pub(crate) const NEVER_SPURIOUS: &str =
    "no wait wakes for no reason there, since a loop around one has no end for some of the strategies";

/// Variables that tests obey, and one subcommand does not.
const NOT_OF_COVERAGE: [(&str, &str); 4] = [
    ("ICB_AT_ONCE", "it goes bound by bound"),
    ("ICB_REDUCTION", "--strategies names the reduction, as in icb+por"),
    ("ICB_SPURIOUS", NEVER_SPURIOUS),
    ("ICB_STRATEGY", "--strategies names those that are compared"),
];

/// Variables that `cargo icb` sets for the processes that it starts.
const OWN: [&str; 11] = [
    "ICB_CHANNEL",
    "ICB_DETACHED",
    "ICB_DIRECTORY",
    "ICB_FIXED_HASHING",
    "ICB_JOURNAL_KEY",
    "ICB_MIN_BOUND",
    "ICB_ONCE",
    "ICB_REPLAY_DIES",
    "ICB_RUN_OUT",
    "ICB_SWAP_",
    "ICB_TOKENS",
];

/// What is to be said of variables that are set and have no effect on a subcommand which runs tests.
pub(crate) fn warnings(subcommand: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let of_options = |command: &clap::Command| -> Vec<String> {
        let variables = command.get_arguments().filter_map(|argument| argument.get_env());
        variables.map(|name| name.to_string_lossy().into_owned()).collect()
    };
    let cli = Cli::command();
    let is_coverage = subcommand == "coverage";
    let mut obeyed = cli.find_subcommand(subcommand).map(of_options).unwrap_or_default();
    obeyed.retain(|name| !is_coverage || !NOT_OF_COVERAGE.iter().any(|(other, _)| other == name));
    let all: BTreeSet<String> = cli.get_subcommands().flat_map(of_options).collect();
    let names: BTreeSet<String> = names.into_iter().filter(|name| name.starts_with(PREFIX)).collect();
    let mut warnings = Vec::new();
    for name in names.iter().filter(|name| !obeyed.contains(name)) {
        let not_obeyed = if is_coverage { &NOT_OF_COVERAGE[..] } else { &[] };
        let mut not_obeyed = OF_TESTS.iter().chain(not_obeyed);
        let why = if let Some((_, instead)) = not_obeyed.find(|(known, _)| known == name) {
            format!("`cargo icb {subcommand}` does not obey {name}: {instead}")
        } else if all.contains(name) {
            // It speaks of what this subcommand does not do.
            continue;
        } else if OWN.iter().any(|own| own == name || own.ends_with('_') && name.starts_with(own)) {
            format!("{name} has no effect: `cargo icb` sets it itself, for the processes that it starts")
        } else {
            // What all begin with makes no two of them alike.
            let known = all.iter().map(String::as_str).chain(OF_TESTS.map(|(known, _)| known));
            let known = known.filter_map(|known| known.strip_prefix(PREFIX));
            let meant = nearest(&name[PREFIX.len()..], known);
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {PREFIX}{meant}?"));
            format!("{name} has no effect: there is no such setting, and tests do not see it{meant}")
        };
        warnings.push(format!("warning: {why}"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_dropped_in_silence() {
        for (subcommand, name, expected) in [
            ("test", "ICB_MAX_BOUND", None),
            ("test", "ICB_AT_ONCE", None),
            ("test", "ICB_EXPLAIN_SECONDS", None),
            ("test", "ICB_MAX_EARLY", None),
            ("test", "PATH", None),
            (
                "test",
                "ICB_MAX_BOUNDS",
                Some(
                    "ICB_MAX_BOUNDS has no effect: there is no such setting, and tests do not see it; did you mean ICB_MAX_BOUND?",
                ),
            ),
            ("test", "ICB_STRATGY", Some("did you mean ICB_STRATEGY?")),
            ("test", "ICB_ZZZ", Some("tests do not see it")),
            ("test", "ICB_WORKERS", Some("`cargo icb test` does not obey ICB_WORKERS: --jobs")),
            ("test", "ICB_KEEP_GOING", Some("ends with the first failure")),
            ("test", "ICB_REPLAY", Some("`cargo icb replay TEST` takes it")),
            ("test", "ICB_CHANNEL", Some("sets it itself")),
            ("test", "ICB_SWAP_LIBRARY", Some("sets it itself")),
            ("replay", "ICB_REPLAY", None),
            ("replay", "ICB_REPLAY_MODEL", None),
            ("replay", "ICB_WEAK_MEMORY", None),
            ("replay", "ICB_MAX_BOUND", None),
            ("coverage", "ICB_MAX_BOUND", None),
            ("coverage", "ICB_WEAK_MEMORY", None),
            (
                "coverage",
                "ICB_AT_ONCE",
                Some("`cargo icb coverage` does not obey ICB_AT_ONCE: it goes bound"),
            ),
            ("coverage", "ICB_STRATEGY", Some("--strategies names those")),
            ("coverage", "ICB_REDUCTION", Some("as in icb+por")),
            ("replay", "ICB_AT_ONCE", None),
        ] {
            let said = warnings(subcommand, [name.to_owned()]);
            match expected {
                None => assert_eq!(said, Vec::<String>::new(), "{name}"),
                Some(words) => {
                    assert!(
                        said.len() == 1 && said[0].starts_with("warning: ") && said[0].contains(words),
                        "{said:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_variable_is_in_the_manual() {
        let manual = include_str!("../../icb-std/manual/settings.md");
        let cli = Cli::command();
        let arguments = cli.get_subcommands().flat_map(|command| command.get_arguments());
        for name in arguments.filter_map(|argument| argument.get_env()) {
            let name = name.to_str().unwrap();
            assert!(manual.contains(&format!("`{name}`")), "{name}");
        }
    }
}
