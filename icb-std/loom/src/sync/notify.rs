//! `loom::sync::Notify`: one thread waits for a signal of others.

use icb_std::sync::{Condvar, Mutex, PoisonError};
use std::sync::atomic::{AtomicBool, Ordering};

/// Mirrors `loom::sync::Notify`.
#[derive(Debug, Default)]
pub struct Notify {
    notified: Mutex<bool>,
    news: Condvar,
    /// Whether a thread waits; the model does not look at it.
    waits: AtomicBool,
}

impl Notify {
    /// Mirrors `loom::sync::Notify::new`.
    #[must_use]
    pub fn new() -> Notify {
        Notify::default()
    }

    /// Mirrors `loom::sync::Notify::notify`: the thread that waits, or the next that will, goes on.
    #[track_caller]
    pub fn notify(&self) {
        *self.notified.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.news.notify_one();
    }

    /// Mirrors `loom::sync::Notify::wait`: waits until there has been a notification since the last wait. May return without
    /// one, at a cost of 1 against the bound.
    ///
    /// # Panics
    /// If another thread waits.
    #[track_caller]
    pub fn wait(&self) {
        let taken = self.waits.swap(true, Ordering::SeqCst);
        assert!(!taken, "only a single thread may wait on `Notify`");
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        if !*notified {
            notified = self.news.wait(notified).unwrap_or_else(PoisonError::into_inner);
        }
        *notified = false;
        drop(notified);
        self.waits.store(false, Ordering::SeqCst);
    }
}
