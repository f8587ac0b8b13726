//! `#[should_panic]` tests that have failed as they should: whether a stale value did it, without which they may not fail.

use super::Run;
use crate::settings::Search;
use crate::worker::plan::Task;
use crate::worker::process::Outcome;
use crate::worker::replay::Replayed;
use icb_core::trace::{ScheduleEntry, Step};

impl Run<'_> {
    /// Whether the failure that has been told took a stale value. A schedule says which outcomes cost something, and not why: if any does,
    /// it is replayed.
    pub(super) fn took_stale_value(&self, task: Task, outcome: &Outcome) -> bool {
        let told = outcome.models.iter().find_map(|(&model, told)| Some((model, told.failure.as_ref()?)));
        let costs = |entry: &ScheduleEntry| matches!(entry, ScheduleEntry::Branch { costly: true, .. });
        let Some((model, failure)) = told.filter(|(_, failure)| failure.schedule.entries().iter().any(costs))
        else {
            return false;
        };
        // Nothing is to be explained.
        let search = Search { simplify: None, explain: Some(0.0), ..self.search_of(task.test) };
        match self.replay(task, model, failure, &search) {
            Replayed::Fails(shown) => shown.trace.steps.iter().any(Step::is_stale),
            _ => false,
        }
    }
}
