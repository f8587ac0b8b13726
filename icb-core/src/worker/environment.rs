//! The `ICB_*` variables as this process was given them, before anybody else could take them for its own.
//!
//! What `cargo icb` tells a test process is for that process alone. A program that the test starts may be the same test
//! executable (a test that wants to see its process die starts itself): it is a test like any other, run as it is. Were it to
//! find the channel, it would write over what this process has on it.
//!
//! What the variables mean, this file does not know.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The prefix of all of them.
const OURS: &str = "ICB_";
/// Where `cargo icb` listens: the process is steered.
const CHANNEL: &str = "ICB_CHANNEL";
/// What the tests of a process see that this one starts: that they are run as they are.
const FOR_OTHERS: (&str, &str) = ("ICB_ONCE", "1");

/// What this process was told, if it is steered.
static TOLD: OnceLock<Option<BTreeMap<String, String>>> = OnceLock::new();

/// A variable's text.
pub(super) fn variable(name: &str) -> Option<String> {
    match TOLD.get_or_init(take_over) {
        Some(told) => told.get(name).cloned(),
        None => std::env::var(name).ok(),
    }
}

/// If the process is steered: its variables, which from now on are in no environment any more.
fn take_over() -> Option<BTreeMap<String, String>> {
    std::env::var_os(CHANNEL)?;
    let told: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(OURS))
        .collect();
    for name in told.keys() {
        // SAFETY: before the first model of the process. What there is of other threads then is the harness's, which waits for
        // the test, and reads the environment through `std`.
        unsafe { std::env::remove_var(name) };
    }
    // SAFETY: as above.
    unsafe { std::env::set_var(FOR_OTHERS.0, FOR_OTHERS.1) };
    Some(told)
}
