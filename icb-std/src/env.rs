//! `std::env`. Modelled: variables of the environment and the current directory are shared by all threads, so that looking at them and changing them are
//! steps where nothing orders what threads do there; and every execution begins with what was there before. Everything else is `std`'s. Not
//! modelled: what C code does there by itself (`getenv`), and children, which inherit what is there when they are started. `set_var` and `remove_var`, which are
//! safe to call before Rust 2024, need an unstable attribute for that: without `icb_coerce` they are `std`'s.

pub use ::std::env::*;

use crate::door::{self, OwnLock};
use crate::surroundings::{about_to_use, environment};
use ::std::ffi::{OsStr, OsString};
use ::std::io;
use ::std::path::{Path, PathBuf};

/// What the running execution has changed, as it was before.
struct Before {
    variables: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
    /// It is known that all this is to be put back.
    is_known: bool,
}

static BEFORE: OwnLock<Before> =
    OwnLock::new(Before { variables: Vec::new(), directory: None, is_known: false });

/// In an execution: notes something that has to be put back.
fn note(change: impl FnOnce(&mut Before)) {
    if !door::active() {
        return;
    }
    door::aside(|| {
        let mut before = BEFORE.lock();
        change(&mut before);
        door::forget_at_end(&mut before.is_known, put_back);
    });
}

fn put_back() {
    let mut before = BEFORE.lock();
    before.is_known = false;
    for (key, value) in before.variables.drain(..).rev() {
        // SAFETY: no thread of the execution runs any more; others are as they were for whoever made the change.
        unsafe {
            match value {
                Some(value) => ::std::env::set_var(key, value),
                None => ::std::env::remove_var(key),
            }
        }
    }
    if let Some(directory) = before.directory.take() {
        // Where it is gone there is nothing to go back to.
        let _is_there = ::std::env::set_current_dir(directory);
    }
}

#[cfg(icb_coerce)]
fn note_variable(key: &OsStr) {
    note(|before| {
        if before.variables.iter().all(|(known, _)| known != key) {
            before.variables.push((key.to_owned(), ::std::env::var_os(key)));
        }
    });
}

/// Mirrors `std::env::var`.
#[track_caller]
pub fn var<K: AsRef<OsStr>>(key: K) -> Result<String, VarError> {
    about_to_use(&[environment(false)]);
    ::std::env::var(key)
}

/// Mirrors `std::env::var_os`.
#[must_use]
#[track_caller]
pub fn var_os<K: AsRef<OsStr>>(key: K) -> Option<OsString> {
    about_to_use(&[environment(false)]);
    ::std::env::var_os(key)
}

/// Mirrors `std::env::vars`.
#[must_use]
#[track_caller]
pub fn vars() -> Vars {
    about_to_use(&[environment(false)]);
    ::std::env::vars()
}

/// Mirrors `std::env::vars_os`.
#[must_use]
#[track_caller]
pub fn vars_os() -> VarsOs {
    about_to_use(&[environment(false)]);
    ::std::env::vars_os()
}

/// Mirrors `std::env::set_var`.
///
/// # Safety
/// As in `std`.
#[cfg(icb_coerce)]
#[rustc_deprecated_safe_2024(audit_that = "the environment access only happens in single-threaded code")]
#[track_caller]
pub unsafe fn set_var<K: AsRef<OsStr>, V: AsRef<OsStr>>(key: K, value: V) {
    about_to_use(&[environment(true)]);
    note_variable(key.as_ref());
    // SAFETY: the caller's promise.
    unsafe { ::std::env::set_var(key, value) };
}

/// Mirrors `std::env::remove_var`.
///
/// # Safety
/// As in `std`.
#[cfg(icb_coerce)]
#[rustc_deprecated_safe_2024(audit_that = "the environment access only happens in single-threaded code")]
#[track_caller]
pub unsafe fn remove_var<K: AsRef<OsStr>>(key: K) {
    about_to_use(&[environment(true)]);
    note_variable(key.as_ref());
    // SAFETY: the caller's promise.
    unsafe { ::std::env::remove_var(key) };
}

/// Mirrors `std::env::current_dir`.
#[track_caller]
pub fn current_dir() -> io::Result<PathBuf> {
    about_to_use(&[environment(false)]);
    ::std::env::current_dir()
}

/// Mirrors `std::env::set_current_dir`.
#[track_caller]
pub fn set_current_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    about_to_use(&[environment(true)]);
    note(|before| {
        if before.directory.is_none() {
            before.directory = ::std::env::current_dir().ok();
        }
    });
    ::std::env::set_current_dir(path)
}

/// Mirrors `std::env::temp_dir`, which looks at a variable.
#[must_use]
#[track_caller]
pub fn temp_dir() -> PathBuf {
    about_to_use(&[environment(false)]);
    ::std::env::temp_dir()
}

/// Mirrors `std::env::home_dir`, which looks at a variable.
#[must_use]
#[track_caller]
pub fn home_dir() -> Option<PathBuf> {
    about_to_use(&[environment(false)]);
    ::std::env::home_dir()
}
