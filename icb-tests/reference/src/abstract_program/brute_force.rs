//! Every execution with at most so many preemptions, one by one, without merging or pruning anything.
//!
//! This is the reference for execution counts, outcome sets and terminal happens-before states per bound.

use super::dependence::HappensBeforeState;
use super::execution::{Execution, Outcome};
use super::interpreter::Granularity;
use super::language::Program;
use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// What the executions with one exact number of preemptions come to.
#[derive(Clone, Debug, Default)]
struct Level {
    execution_count: u64,
    outcomes: BTreeSet<Outcome>,
    terminals: HashSet<HappensBeforeState>,
}

/// All executions up to a bound.
#[derive(Clone, Debug)]
pub struct Enumeration {
    levels: Vec<Level>,
}

/// A program has more executions than one is willing to enumerate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyExecutions {
    /// The limit.
    pub limit: u64,
}

impl fmt::Display for TooManyExecutions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program has more than {} executions", self.limit)
    }
}

impl std::error::Error for TooManyExecutions {}

/// Enumerates every execution of `program` with at most `max_bound` preemptions.
///
/// # Errors
/// If there are more than `max_executions`.
pub fn enumerate(
    program: &Program,
    granularity: Granularity,
    max_bound: usize,
    max_executions: u64,
) -> Result<Enumeration, TooManyExecutions> {
    let mut enumeration = Enumeration { levels: vec![Level::default(); max_bound + 1] };
    let mut left = max_executions;
    // Depth-first, by an explicit stack of executions in progress and the preemptions spent on them.
    let mut stack = vec![(Execution::new(program, granularity), 0)];
    while let Some((execution, spent)) = stack.pop() {
        let enabled = execution.enabled();
        if enabled.is_empty() {
            left = left.checked_sub(1).ok_or(TooManyExecutions { limit: max_executions })?;
            let level = &mut enumeration.levels[spent];
            level.execution_count += 1;
            level.outcomes.insert(execution.outcome());
            level.terminals.insert(execution.happens_before().clone());
        }
        for thread in enabled {
            let spent = spent + execution.cost(thread);
            if spent <= max_bound {
                stack.extend(execution.successors(thread).map(|next| (next, spent)));
            }
        }
    }
    Ok(enumeration)
}

impl Enumeration {
    /// The largest bound that was enumerated.
    #[must_use]
    pub fn max_bound(&self) -> usize {
        self.levels.len() - 1
    }

    /// Number of executions with exactly `preemptions` preemptions.
    #[must_use]
    pub fn execution_count(&self, preemptions: usize) -> u64 {
        self.levels[preemptions].execution_count
    }

    /// Outcomes of the executions with at most `bound` preemptions.
    #[must_use]
    pub fn outcomes(&self, bound: usize) -> BTreeSet<Outcome> {
        self.levels[..=bound].iter().flat_map(|level| level.outcomes.iter().cloned()).collect()
    }

    /// Distinct terminal happens-before states of the executions with at most `bound` preemptions.
    #[must_use]
    pub fn terminals(&self, bound: usize) -> HashSet<&HappensBeforeState> {
        self.levels[..=bound].iter().flat_map(|level| &level.terminals).collect()
    }

    /// The fewest preemptions with which the given outcome is reached.
    pub fn first_bound(&self, mut wanted: impl FnMut(&Outcome) -> bool) -> Option<usize> {
        self.levels.iter().position(|level| level.outcomes.iter().any(&mut wanted))
    }

    /// The fewest preemptions with which something goes wrong.
    #[must_use]
    pub fn first_failing_bound(&self) -> Option<usize> {
        self.first_bound(Outcome::is_failure)
    }
}
