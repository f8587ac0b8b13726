//! Runs a plan on several threads, each with one test process at a time.

use super::plan::{Plan, Task};
use super::tokens::Tokens;
use super::verdict::Verdict;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How a task went.
pub(crate) struct Done {
    pub(crate) verdict: Verdict,
    /// How many steps its executions took.
    pub(crate) steps: u64,
}

/// Runs every task of the plan, so many at a time; returns when nothing is left. A thread that has nothing to do lends its
/// core to tests that are long. A task without a verdict is put back.
pub(crate) fn run(plan: Plan, jobs: usize, tokens: &Tokens, work: impl Fn(Task) -> Option<Done> + Sync) {
    let plan = Mutex::new(plan);
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(task) = next(&plan, &changed, tokens) {
                    let done = work(task);
                    match done {
                        Some(Done { verdict, steps }) => lock(&plan).finish(task, &verdict, steps),
                        None => lock(&plan).put_back(task),
                    }
                    changed.notify_all();
                }
            });
        }
    });
}

/// Waits for a task, or for the end.
fn next(plan: &Mutex<Plan>, changed: &Condvar, tokens: &Tokens) -> Option<Task> {
    let mut plan = lock(plan);
    loop {
        if let Some(task) = plan.next() {
            return Some(task);
        }
        if plan.is_done() {
            return None;
        }
        tokens.put();
        plan = changed.wait(plan).unwrap_or_else(PoisonError::into_inner);
        tokens.take();
    }
}

fn lock(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Bound;
    use icb_core::trace::StrategyKind;

    #[test]
    fn every_task_runs_once() {
        let seen = Mutex::new(Vec::new());
        let directory = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(directory.path());
        run(Plan::new(5, Bound::Limited(3), StrategyKind::ContextBounded, false), 3, &tokens, |task| {
            seen.lock().unwrap().push((task.min_bound, task.test));
            let verdict = Verdict::Holds { last: false, exhausted: false, expects_failure: false };
            Some(Done { verdict, steps: 0 })
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        let expected: Vec<_> = (0..4).flat_map(|bound| (0..5).map(move |test| (bound, test))).collect();
        assert_eq!(seen, expected);
    }
}
