//! Searches of programs of real threads, where what each execution came to is noted at its bound. Knows nothing of what the
//! programs do: whoever asks for a search says what an execution came to.

use crate::searches::{coroutines, every_execution};
use icb_core::explore::Explorer;
use icb_core::program::{Chooser, Observer, Outcome, Program, Strategy};
use icb_core::runtime::{CoroutineProgram, Settings};
use icb_core::trace::{FailureKind, Report};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Where an execution leaves something for whoever watches it. It is made of `std`'s own types, so that leaving something
/// is no step.
#[derive(Debug)]
pub struct Slot<T>(Arc<Mutex<Option<T>>>);

impl<T> Slot<T> {
    /// Leaves the value; what was there before.
    pub fn put(&self, value: T) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(value)
    }

    /// Takes what has been left.
    #[must_use]
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot(Arc::default())
    }
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Slot(Arc::clone(&self.0))
    }
}

/// What executions came to.
#[derive(Clone, Debug)]
pub struct Level<O> {
    /// How many there are.
    pub execution_count: u64,
    /// Their outcomes.
    pub outcomes: BTreeSet<O>,
    /// Fingerprints of their terminal states.
    pub states: BTreeSet<u128>,
}

impl<O> Default for Level<O> {
    fn default() -> Self {
        Level { execution_count: 0, outcomes: BTreeSet::new(), states: BTreeSet::new() }
    }
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found<O> {
    /// What was run for each bound; bounds after the last one that has executions are missing.
    pub levels: Vec<Level<O>>,
    /// The tester's report.
    pub report: Report,
}

impl<O: Ord + Clone> Found<O> {
    /// What was found up to each bound; only bounds that were searched completely.
    #[must_use]
    pub fn up_to_each_bound(&self) -> Vec<Level<O>> {
        let mut sum = Level::default();
        let mut sums = Vec::new();
        for bound in self.report.bounds.iter().take_while(|bound| bound.complete) {
            if let Some(level) = self.levels.get(bound.bound as usize) {
                sum.execution_count += level.execution_count;
                sum.outcomes.extend(level.outcomes.iter().cloned());
                sum.states.extend(&level.states);
            }
            sums.push(sum.clone());
        }
        sums
    }
}

/// Searches the executions of `body`, `max_executions` of them at most. `watch` is told the bound of each and how it ended, and
/// says what it came to; `None`: it does not count.
///
/// # Panics
/// If executions diverge: the program is not deterministic.
pub fn search<O: Ord>(
    body: impl Fn() + Send + Sync + 'static,
    settings: Settings,
    strategy: &mut dyn Strategy,
    max_executions: Option<u64>,
    watch: impl FnMut(u32, &Outcome) -> Option<O>,
) -> Found<O> {
    let mut watched = Watched { coroutines: coroutines(body, settings), watch, levels: Vec::new(), bound: 0 };
    let report = Explorer::new(every_execution(max_executions)).run(strategy, &mut watched);
    if let Some(failure) = report.failure.as_ref().filter(|f| f.kind == FailureKind::Divergence) {
        panic!("{failure}");
    }
    Found { levels: watched.levels, report }
}

/// A program whose outcomes are noted.
struct Watched<O, W> {
    coroutines: CoroutineProgram,
    watch: W,
    levels: Vec<Level<O>>,
    bound: u32,
}

impl<O: Ord, W: FnMut(u32, &Outcome) -> Option<O>> Program for Watched<O, W> {
    fn run(&mut self, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) -> Outcome {
        let result = self.coroutines.run(chooser, observer);
        let outcome = (self.watch)(self.bound, &result);
        if result.promoted {
            // The search begins anew.
            self.levels.clear();
        } else if let Some(outcome) = outcome {
            let bound = self.bound as usize;
            self.levels.resize_with(self.levels.len().max(bound + 1), Level::default);
            let level = &mut self.levels[bound];
            level.execution_count += 1;
            level.outcomes.insert(outcome);
            level.states.insert(result.fingerprint);
        }
        result
    }

    fn label(&mut self, bound: u32, execution: u64) {
        self.bound = bound;
        self.coroutines.label(bound, execution);
    }
}
