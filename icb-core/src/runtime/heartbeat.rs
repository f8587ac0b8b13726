//! Signs of life of executions, for a watchdog on another thread.

use crate::program::Place;
use crate::trace::SourceLocation;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Signs of life, for a watchdog on another thread.
#[derive(Debug, Default)]
pub struct Heartbeat {
    pub(super) executions: AtomicU64,
    steps: AtomicU64,
    /// The word of the last step's [`Place`].
    place: AtomicUsize,
}

impl Heartbeat {
    #[inline]
    pub(super) fn beat(&self, step: u64, place: Option<Place>) {
        self.steps.store(step, Ordering::Relaxed);
        self.place.store(place.map_or(0, Place::word), Ordering::Relaxed);
    }

    /// Executions begun and steps taken in the one that runs: unchanged means stuck (or idle).
    #[must_use]
    pub fn pulse(&self) -> (u64, u64) {
        (self.executions.load(Ordering::Relaxed), self.steps.load(Ordering::Relaxed))
    }

    /// Where the last step was taken.
    #[must_use]
    pub fn place(&self) -> Option<SourceLocation> {
        let place = self.place.load(Ordering::Relaxed);
        // SAFETY: `beat` stores nothing else.
        unsafe { Place::from_word(place) }.and_then(Place::location)
    }
}
