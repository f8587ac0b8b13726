//! Tests whose last bound is searched at once: that is all there is to do where it holds. Where something fails, the test is searched
//! bound by bound, for the fewest preemptions.

use super::Run;
use super::progress::lock;
use crate::settings::Bound;
use crate::worker::plan::Task;
use crate::worker::process::Outcome;
use crate::worker::verdict::Verdict;
use icb_core::trace::Failure;
use icb_core::trace::table::costs;

/// What the last bound has shown of a test that is now searched bound by bound: which model failed and how, unless one has told nothing
/// about that bound.
pub(super) type Shown = Option<(u32, Box<Failure>)>;

impl Run<'_> {
    /// Whether a task is the test's first although there are bounds below it.
    pub(super) fn is_at_once(&self, task: Task) -> bool {
        let is_last = task.min_bound > 0 || task.max_bound == Bound::Unlimited;
        self.arguments.at_once && is_last && !lock(&self.narrowed).contains_key(&task.test)
    }

    /// What a test comes to whose last bound was searched at once. It has to be searched bound by bound if it failed, or if it has told
    /// nothing about that bound; but what another shard finds is not known here, and that is what should be said of it.
    pub(super) fn at_once(
        &self,
        task: Task,
        outcome: Option<&Outcome>,
        verdict: Verdict,
    ) -> (Verdict, Option<String>) {
        if self.arguments.shard.is_some() {
            let costs = matches!(&verdict, Verdict::Failed { failure, .. } if failure.bound > 0);
            let note = "Found at once by one shard: another failure may have fewer preemptions; a run without --at-once finds the fewest";
            return (verdict, costs.then(|| note.to_owned()));
        }
        let limits_itself = || outcome.is_some_and(|o| o.models.values().any(|told| told.bounds.is_empty()));
        let (reason, shown) = match verdict {
            Verdict::Failed { model, failure } => {
                let line = failure.to_string().lines().next().unwrap_or_default().to_owned();
                (
                    format!("fails with {}: {line}", costs(&failure.schedule, &failure.trace)),
                    Some((model, failure)),
                )
            }
            Verdict::Holds { .. } if limits_itself() => {
                ("a model in it was not searched at this bound".to_owned(), None)
            }
            other => return (other, None),
        };
        lock(&self.narrowed).insert(task.test, shown);
        (Verdict::BoundByBound { reason }, None)
    }

    /// What a test comes to that was searched bound by bound since its last bound has failed: that failure if no other was found. With it
    /// comes what should be said of that.
    pub(super) fn narrowed(&self, task: Task, verdict: Verdict) -> (Verdict, Option<String>) {
        let Some(Some((model, failure))) = lock(&self.narrowed).get(&task.test).cloned() else {
            return (verdict, None);
        };
        let why = match &verdict {
            Verdict::Incomplete { reason } => {
                format!(
                    "{reason} at bound {}, before a failure with the fewest preemptions was found",
                    task.min_bound
                )
            }
            Verdict::Holds { .. } if task.next_bound(&verdict, self.arguments.max_bound).is_none() => {
                "Searched bound by bound the test has not failed: it does not do the same every time"
                    .to_owned()
            }
            _ => return (verdict, None),
        };
        let note = format!("Found at once, with {}; {why}", costs(&failure.schedule, &failure.trace));
        (Verdict::Failed { model, failure }, Some(note))
    }
}
