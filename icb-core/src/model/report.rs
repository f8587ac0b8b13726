//! What a search with states has done.

use crate::trace::{BoundReport, Failure, Stopped};

/// The outcome of a [`StateSearch`](super::StateSearch).
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct StateReport {
    /// Figures per bound, lowest first. `states` are the distinct states reached with at most so many preemptions, `executions`
    /// the work items of the bound (the paper's queue), `steps` the transitions taken.
    pub bounds: Vec<BoundReport>,
    /// Distinct states in which nobody can go on.
    pub terminal_states: u64,
    /// The failure with the fewest preemptions, if one was found.
    pub failure: Option<Failure>,
    /// Whether everything asked for was explored without a failure.
    pub complete: bool,
    /// Why the search ended early, if it did.
    pub stopped: Option<Stopped>,
    /// Where the memory went.
    pub memory: Memory,
    /// The probability that some state was taken for another one and left out: at most n²/2⁶⁵ for n states where fingerprints
    /// stand for states, else 0.
    pub omission_probability: f64,
}

impl StateReport {
    /// Distinct states reached.
    #[must_use]
    pub fn state_count(&self) -> u64 {
        self.bounds.last().map_or(0, |bound| bound.states)
    }

    /// The first bound at which every state of the whole space had been reached; `None` if the search was not exhaustive.
    #[must_use]
    pub fn full_coverage_bound(&self) -> Option<u32> {
        let last = self.bounds.last().filter(|bound| bound.exhausted)?;
        self.bounds.iter().find(|bound| bound.states == last.states).map(|bound| bound.bound)
    }

    /// The largest bound up to which there is no failure.
    #[must_use]
    pub fn proved_bound(&self) -> Option<u32> {
        let failed_at = self.failure.as_ref().map_or(u32::MAX, |failure| failure.bound);
        self.bounds.iter().take_while(|b| b.complete && b.bound < failed_at).last().map(|b| b.bound)
    }
}

/// Bytes in use at the end of a search (of the queues: at their largest), by the capacity of what holds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Memory {
    /// The states that are kept; 0 where fingerprints stand for them.
    pub states: usize,
    /// The index of fingerprints and the table of work items.
    pub table: usize,
    /// How each work item was reached, for the trace of a failure.
    pub origins: usize,
    /// Work items that wait, with the states that they hold, at their largest.
    pub queues: usize,
    /// Distinct states.
    pub state_count: usize,
}

impl Memory {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> usize {
        self.states + self.table + self.origins + self.queues
    }

    /// Bytes for each distinct state.
    #[must_use]
    pub fn per_state(&self) -> f64 {
        self.total() as f64 / self.state_count.max(1) as f64
    }
}
