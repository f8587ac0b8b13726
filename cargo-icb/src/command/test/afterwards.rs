//! Tests that fail after their models have passed. What they assert there may be about all executions together ("both
//! outcomes were seen"), of which one bound, or one of several processes, sees a part only.

use super::progress::lock;
use super::{Run, judged};
use crate::worker::plan::Task;
use crate::worker::process::{Launch, Outcome, Stop};
use crate::worker::verdict::{Verdict, of_models};

impl Run<'_> {
    /// A test that fails outside its models although those hold goes on to the next bound. After the last one it is run
    /// again in one process, all bounds together, and that decides.
    pub(super) fn weigh(&self, task: Task, outcome: &Outcome, verdict: Verdict, stop: Stop<'_>) -> Verdict {
        match verdict {
            Verdict::Ordinary { output } if self.arguments.shard.is_none() => match of_models(outcome) {
                Some(Verdict::Holds { last, exhausted, .. }) => {
                    lock(&self.afterwards).insert(task.test, task.min_bound);
                    if !last && task.has_next(self.arguments.max_bound) {
                        return Verdict::Holds { last, exhausted, expects_failure: false };
                    }
                    self.all_together(task, output, stop)
                }
                _ => Verdict::Ordinary { output },
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
    fn all_together(&self, task: Task, output: String, stop: Stop<'_>) -> Verdict {
        if self.is_isolated(task.test) {
            let why = "with --isolated no process has seen more than one execution: what the test asserts after its model, of all of them together, cannot be judged; \
                       leave --isolated out, or assert it within the model";
            return Verdict::Ordinary { output: format!("{output}\n({why})") };
        }
        let launch = Launch {
            test: &self.tests[task.test],
            directory: self.directory(task).join("together"),
            environment: self.environment(Task { min_bound: 0, ..task }),
            watchdog: self.arguments.search.watchdog,
            limit: None,
            stop,
        };
        match judged(&launch) {
            Verdict::Incomplete { reason } => {
                Verdict::Ordinary { output: format!("{output}\n(run again in one process: {reason})") }
            }
            verdict => verdict,
        }
    }
}
