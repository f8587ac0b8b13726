//! Tests that fail after their models have passed. What they assert there may be about all executions together ("both
//! outcomes were seen"), of which one bound, or one of several processes, sees a part only.

use super::progress::lock;
use super::{Run, judged};
use crate::worker::plan::Task;
use crate::worker::process::{Launch, Outcome, Stop};
use crate::worker::verdict::{Verdict, of_models};

/// Why nothing is known of a test that fails outside its models, where not all executions were seen.
const NOT_JUDGED: &str = "what is asserted after the model could not be judged";

impl Run<'_> {
    /// A test that fails outside its models although those hold goes on to the next bound. After the last one it is run
    /// again in one process, all bounds together, and that decides. Where no process has seen all executions, nothing does.
    pub(super) fn weigh(&self, task: Task, outcome: &Outcome, verdict: Verdict, stop: Stop<'_>) -> Verdict {
        match verdict {
            Verdict::Ordinary { output } => match of_models(outcome) {
                Some(Verdict::Holds { last, exhausted, .. }) => {
                    lock(&self.afterwards).insert(task.test, task.min_bound);
                    if !last && task.has_next(self.arguments.max_bound) {
                        return Verdict::Holds { last, exhausted, expects_failure: false };
                    }
                    self.all_together(task, stop)
                }
                models => cut_short(models, Verdict::Ordinary { output }),
            },
            Verdict::Incomplete { reason } => match lock(&self.afterwards).get(&task.test) {
                Some(bound) => Verdict::Incomplete {
                    reason: format!("{reason}; after bound {bound} the test failed outside any model"),
                },
                None => Verdict::Incomplete { reason },
            },
            other => other,
        }
    }

    /// Runs a test in one process, from bound 0 to the task's last.
    fn all_together(&self, task: Task, stop: Stop<'_>) -> Verdict {
        let why = if self.arguments.shard.is_some() {
            "a shard sees a part of the executions only; leave --shard out for this test, or assert it within the model"
        } else if self.is_isolated(task.test) {
            "with --isolated no process sees more than one execution; leave it out, or assert it within the model"
        } else {
            return self.run_together(task, stop);
        };
        Verdict::Incomplete { reason: format!("{NOT_JUDGED} ({why})") }
    }

    fn run_together(&self, task: Task, stop: Stop<'_>) -> Verdict {
        let launch = Launch {
            test: &self.tests[task.test],
            directory: self.directory(task).join("together"),
            environment: self.environment(Task { min_bound: 0, ..task }),
            watchdog: self.arguments.search.watchdog,
            limit: None,
            stop,
        };
        let (outcome, verdict) = judged(&launch);
        match verdict {
            Verdict::Incomplete { reason } => {
                Verdict::Incomplete { reason: format!("{reason}; {NOT_JUDGED}") }
            }
            verdict => cut_short(outcome.as_ref().and_then(of_models), verdict),
        }
    }
}

/// A failure outside the models says nothing where their search was cut short: the executions that are missing may be what the test waits for.
fn cut_short(models: Option<Verdict>, verdict: Verdict) -> Verdict {
    match (models, verdict) {
        (Some(Verdict::Incomplete { reason }), Verdict::Ordinary { .. }) => {
            Verdict::Incomplete { reason: format!("{reason}; {NOT_JUDGED}") }
        }
        (_, verdict) => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_all_executions_were_seen_of_is_judged() {
        let ordinary = || Verdict::Ordinary { output: "no".to_owned() };
        let incomplete = |reason: &str| Verdict::Incomplete { reason: reason.to_owned() };
        let holds = Verdict::Holds { last: true, exhausted: true, expects_failure: false };
        let stopped = incomplete("stopped; what is asserted after the model could not be judged");
        for (models, verdict, told) in [
            (None, ordinary(), ordinary()),
            (Some(holds.clone()), ordinary(), ordinary()),
            (Some(incomplete("stopped")), ordinary(), stopped),
            (Some(incomplete("stopped")), Verdict::RunOnce, Verdict::RunOnce),
            (Some(holds.clone()), holds.clone(), holds),
        ] {
            assert_eq!(cut_short(models, verdict), told);
        }
    }
}
