//! What a search has done: figures per bound, and what they prove.

use super::Failure;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a search ended before its bound was exhausted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stopped {
    /// A failure was found.
    Failure,
    /// `max_executions` were run.
    Executions,
    /// `max_duration` was over.
    Duration,
    /// Someone asked for it (Ctrl-C).
    Interrupt,
    /// The limit on the states of a model was reached.
    States,
}

impl Stopped {
    /// Why a search that found nothing is incomplete, in words; `None` if that is not what this says.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Stopped::Failure => None,
            Stopped::Executions => Some("stopped by the limit on executions"),
            Stopped::Duration => Some("stopped by the limit on time"),
            Stopped::Interrupt => Some("interrupted"),
            Stopped::States => Some("stopped by the limit on states"),
        }
    }
}

/// What was done with exactly `bound` preemptions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundReport {
    /// Number of preemptions of these executions. For strategies without a bound: 0.
    pub bound: u32,
    /// Executions run for this bound. Without a reduction those with exactly `bound` preemptions, each once; with
    /// partial-order reduction, which searches each bound from scratch, those with at most `bound`.
    pub executions: u64,
    /// Executions that a reduction gave up half-way because what followed was covered by others.
    #[serde(default)]
    pub given_up: u64,
    /// Steps of these executions.
    pub steps: u64,
    /// Distinct terminal happens-before states reached by executions with at most `bound` preemptions.
    pub states: u64,
    /// Executions that ended in a failure (more than one only where the search goes on after failures).
    pub failures: u64,
    /// The longest execution, in steps.
    pub max_steps: u64,
    /// The largest number of threads.
    pub max_threads: u32,
    /// The largest number of steps that may block, the end of each thread among them, where it was asked for.
    #[serde(default)]
    pub max_blocking: u64,
    /// The largest number of preemptions, where it was asked for.
    #[serde(default)]
    pub max_preemptions: u32,
    /// Work items known to be left for the next bound when this one was over; 0 where the search does not know.
    #[serde(default)]
    pub next_items: u64,
    /// Time spent, in seconds: of all parts of a search that was stopped and gone on with.
    pub seconds: f64,
    /// Whether every execution with this many preemptions has been run.
    pub complete: bool,
    /// Whether no execution has more preemptions: higher bounds add nothing.
    pub exhausted: bool,
    /// Whether loads of atomic variables could read stale values; each counts like a preemption.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak_memory: bool,
    /// Whether the test does something else with other random numbers: one assignment of them was explored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_assignment: bool,
    /// Of so many assignments of random numbers each was explored, because the test draws some and chooses among these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignments: Option<u32>,
    /// Whether loads could have read stale values of what other threads stored, as their orderings allow, and were not let do so: what is
    /// proved is proved under sequential consistency. Seen in the execution of the default choices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale_left_out: bool,
    /// Whether the clock is read while time passes, and the search is reduced: to read it is no step, so orders in which it shows something else may
    /// have been left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clock_left_out: bool,
    /// Whether each execution had a process of its own, so that nothing was there that an earlier one has left behind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub isolated: bool,
    /// Whether a block could lie where another one lay that its thread had freed in the same execution.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reuses_addresses: bool,
}

impl BoundReport {
    /// An empty report for a bound.
    #[must_use]
    pub fn new(bound: u32) -> Self {
        BoundReport { bound, ..BoundReport::default() }
    }

    /// What is claimed of both together is claimed no further than of each: whatever restricts the other's claim restricts this one.
    pub fn restrict_as(&mut self, other: &BoundReport) {
        self.weak_memory |= other.weak_memory;
        self.one_assignment |= other.one_assignment;
        self.assignments = self.assignments.max(other.assignments);
        self.stale_left_out |= other.stale_left_out;
        self.clock_left_out |= other.clock_left_out;
        self.isolated |= other.isolated;
        self.reuses_addresses |= other.reuses_addresses;
    }
}

/// How many distinct terminal states so many executions have reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Growth {
    /// Executions over all bounds.
    pub executions: u64,
    /// Distinct terminal states.
    pub states: u64,
}

/// What a whole exploration has done.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Figures per bound, lowest first: up to the last one that was asked for, or a thousand after the last one that has executions.
    pub bounds: Vec<BoundReport>,
    /// The failure with the fewest preemptions, if one was found.
    pub failure: Option<Failure>,
    /// Whether everything asked for was exhausted without a failure.
    pub complete: bool,
    /// Why the search ended early, if it did.
    pub stopped: Option<Stopped>,
    /// Coverage against executions, at about a dozen numbers of executions for each power of ten.
    #[serde(default)]
    pub growth: Vec<Growth>,
}

impl Report {
    /// The largest bound up to which every execution has been run without a failure: what has been proved.
    #[must_use]
    pub fn proved_bound(&self) -> Option<u32> {
        let failed_at = self.failure.as_ref().map_or(u32::MAX, |f| f.bound);
        self.bounds.iter().take_while(|b| b.complete && b.bound < failed_at).last().map(|b| b.bound)
    }

    /// What has been proved, in words; `None`: nothing.
    pub(crate) fn proved(&self) -> Option<String> {
        let bound = self.proved_bound()?;
        let most = match self.exhausted() {
            true => String::new(),
            false => format!(" with at most {}", preemptions(bound)),
        };
        Some(format!(
            "no failure in any execution{most}{}{}{}",
            self.memory(),
            self.addresses(),
            self.clock()
        ))
    }

    fn memory(&self) -> &'static str {
        if self.bounds.iter().any(|bound| bound.weak_memory) { " under weak memory" } else { "" }
    }

    fn addresses(&self) -> &'static str {
        let are_reused = self.bounds.iter().any(|bound| bound.reuses_addresses);
        if are_reused { ", where addresses are used again" } else { "" }
    }

    fn clock(&self) -> &'static str {
        let is_left_out = self.bounds.iter().any(|bound| bound.clock_left_out);
        if is_left_out { ", but for what depends on when it reads the clock" } else { "" }
    }

    /// Whether every execution, with any number of preemptions, has been run.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.bounds.last().is_some_and(|b| b.complete && b.exhausted)
    }

    /// Executions over all bounds.
    #[must_use]
    pub fn execution_count(&self) -> u64 {
        self.bounds.iter().map(|b| b.executions).sum()
    }

    /// Steps over all bounds.
    #[must_use]
    pub fn step_count(&self) -> u64 {
        self.bounds.iter().map(|b| b.steps).sum()
    }
}

/// `1 preemption`, `2 preemptions`.
#[doc(hidden)]
#[must_use]
pub fn preemptions(count: u32) -> String {
    format!("{count} preemption{}", if count == 1 { "" } else { "s" })
}

/// One sentence: the failure, or what has been proved.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(failure) = &self.failure {
            let costs = match failure.schedule.preemption_count() == failure.bound {
                true => super::table::costs(&failure.schedule, &failure.trace),
                false => preemptions(failure.bound),
            };
            return write!(f, "{failure} ({costs}{})", self.memory());
        }
        if !self.complete {
            f.write_str("incomplete: ")?;
        }
        f.write_str(self.proved().as_deref().unwrap_or("nothing is proved"))
    }
}
