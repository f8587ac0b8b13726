//! Statics of a crate that others depend on.

use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{LazyLock, Mutex};
use icb_std::thread_local;
use std::cell::Cell;

/// Calls of [`register`].
pub static CALLS: AtomicUsize = AtomicUsize::new(0);

static NAMES: LazyLock<Mutex<Vec<String>>> = LazyLock::new(|| Mutex::new(vec!["first".to_owned()]));

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(0) };
}

/// Adds a name; how many there are, and how many the calling thread has added.
pub fn register(name: &str) -> (usize, usize) {
    CALLS.fetch_add(1, SeqCst);
    MINE.set(MINE.get() + 1);
    let mut names = NAMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    names.push(name.to_owned());
    (names.len(), MINE.get())
}
