//! What to run next: every test at bound 0 before any at bound 1, and so on; and tests that are long when everything else has been done. Runs nothing itself.

use super::verdict::Verdict;
use crate::settings::Bound;
use icb_core::trace::StrategyKind;
use std::collections::{BTreeSet, VecDeque};

/// One process to run: a test at a range of bounds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Task {
    /// First bound to search.
    pub(crate) min_bound: u32,
    /// Number of the test.
    pub(crate) test: usize,
    /// Last bound to search.
    pub(crate) max_bound: Bound,
}

impl Task {
    /// Whether it is of one bound, and not of a range or of all executions.
    pub(crate) fn is_of_one_bound(self) -> bool {
        self.max_bound == Bound::Limited(self.min_bound)
    }

    /// Whether there is a bound after it, where this is the last one.
    pub(crate) fn has_next(self, last: Bound) -> bool {
        self.is_of_one_bound() && self.min_bound.checked_add(1).is_some_and(|next| last.allows(next))
    }

    /// The bound at which its test goes on after this verdict, if it does: the next one if the test still stands, and the first if the
    /// last one came first and does not hold.
    pub(crate) fn next_bound(self, verdict: &Verdict, last: Bound) -> Option<u32> {
        match verdict {
            Verdict::BoundByBound { .. } => Some(0),
            Verdict::Holds { last: false, .. } if self.has_next(last) => Some(self.min_bound + 1),
            _ => None,
        }
    }
}

/// With more steps than this at one bound (a few seconds) a test is long: it goes on when the others have come to their last bound.
const LONG: u64 = 50_000_000;

/// The tasks that wait and those that run.
pub(crate) struct Plan {
    waiting: BTreeSet<Task>,
    /// Tasks of tests that are long.
    long: BTreeSet<Task>,
    /// Tasks that have had their share of the time, and go on if some is left.
    later: VecDeque<Task>,
    running: usize,
    max_bound: Bound,
}

impl Plan {
    /// A plan for so many tests. A search that is not by bounds is one task for each test.
    pub(crate) fn new(test_count: usize, max_bound: Bound, strategy: StrategyKind, at_once: bool) -> Plan {
        let by_bounds = strategy.is_by_preemptions();
        let (first, last) = match max_bound {
            Bound::Limited(bound) if by_bounds && at_once => (bound, max_bound),
            _ if by_bounds && !at_once => (0, Bound::Limited(0)),
            _ if by_bounds || strategy == StrategyKind::DelayBounded => (0, max_bound),
            _ => (0, Bound::Unlimited),
        };
        let waiting = (0..test_count).map(|test| Task { min_bound: first, test, max_bound: last }).collect();
        Plan { waiting, long: BTreeSet::new(), later: VecDeque::new(), running: 0, max_bound }
    }

    /// The next task, lowest bound first. A free worker need not wait for the rest of a bound.
    pub(crate) fn next(&mut self) -> Option<Task> {
        let task =
            self.waiting.pop_first().or_else(|| self.long.pop_first()).or_else(|| self.later.pop_front())?;
        self.running += 1;
        Some(task)
    }

    /// Notes how a task went, and how many steps it took; the test goes on where it has more bounds.
    pub(crate) fn finish(&mut self, task: Task, verdict: &Verdict, steps: u64) {
        self.running -= 1;
        if let Some(bound) = task.next_bound(verdict, self.max_bound) {
            let queue = if steps > LONG { &mut self.long } else { &mut self.waiting };
            queue.insert(Task { min_bound: bound, test: task.test, max_bound: Bound::Limited(bound) });
        }
    }

    /// The task is to go on when everything else has had its turn.
    pub(crate) fn put_back(&mut self, task: Task) {
        self.running -= 1;
        self.later.push_back(task);
    }

    /// Whether nothing waits or runs.
    pub(crate) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.long.is_empty() && self.later.is_empty() && self.running == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDS: Verdict = Verdict::Holds { last: false, exhausted: false, expects_failure: false };
    const EXHAUSTED: Verdict = Verdict::Holds { last: true, exhausted: true, expects_failure: false };

    fn run(plan: &mut Plan, mut verdict: impl FnMut(usize, u32) -> Verdict) -> Vec<(usize, u32)> {
        let mut order = Vec::new();
        while let Some(task) = plan.next() {
            order.push((task.test, task.min_bound));
            plan.finish(task, &verdict(task.test, task.min_bound), 0);
        }
        assert!(plan.is_done());
        order
    }

    #[test]
    fn all_tests_at_one_bound_come_before_any_at_the_next() {
        let mut plan = Plan::new(3, Bound::Limited(2), StrategyKind::ContextBounded, false);
        let order = run(&mut plan, |test, bound| match (test, bound) {
            (1, 0) => Verdict::RunOnce,
            (2, 1) => Verdict::Incomplete { reason: String::new() },
            _ => HOLDS,
        });
        assert_eq!(order, [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2)]);
    }

    #[test]
    fn a_long_test_waits_for_the_others() {
        let mut plan = Plan::new(2, Bound::Limited(2), StrategyKind::ContextBounded, false);
        let mut order = Vec::new();
        while let Some(task) = plan.next() {
            order.push((task.test, task.min_bound));
            plan.finish(task, &HOLDS, if task.test == 0 { LONG + 1 } else { LONG });
        }
        assert_eq!(order, [(0, 0), (1, 0), (1, 1), (1, 2), (0, 1), (0, 2)]);
        assert!(plan.is_done());
    }

    #[test]
    fn an_exhausted_test_is_done_and_an_unlimited_one_goes_on() {
        let mut plan = Plan::new(1, Bound::Unlimited, StrategyKind::ContextBounded, false);
        let order = run(&mut plan, |_, bound| if bound == 7 { EXHAUSTED } else { HOLDS });
        assert_eq!(order.len(), 8);
    }

    #[test]
    fn at_once_only_what_fails_is_searched_bound_by_bound() {
        let failed = || Verdict::Broken(String::new());
        let mut plan = Plan::new(3, Bound::Limited(2), StrategyKind::ContextBounded, true);
        let mut narrowed = false;
        let order = run(&mut plan, |test, bound| match (test, bound) {
            (1, 2) if !narrowed => {
                narrowed = true;
                Verdict::BoundByBound { reason: String::new() }
            }
            (1, 2) => failed(),
            _ => HOLDS,
        });
        assert_eq!(order, [(0, 2), (1, 2), (1, 0), (1, 1), (1, 2), (2, 2)]);
        let mut plan = Plan::new(2, Bound::Unlimited, StrategyKind::ContextBounded, true);
        let order = run(&mut plan, |test, bound| match (test, bound) {
            (0, _) => EXHAUSTED,
            (1, 4) => failed(),
            (1, 0) if narrowed => {
                narrowed = false;
                Verdict::BoundByBound { reason: String::new() }
            }
            _ => HOLDS,
        });
        assert_eq!(order, [(0, 0), (1, 0), (1, 0), (1, 1), (1, 2), (1, 3), (1, 4)]);
    }

    #[test]
    fn depth_first_is_one_task() {
        let mut plan = Plan::new(1, Bound::Limited(2), StrategyKind::DepthFirst, false);
        let task = plan.next().unwrap();
        assert_eq!((task.min_bound, task.max_bound), (0, Bound::Unlimited));
        plan.finish(task, &HOLDS, 0);
        assert!(plan.is_done());
    }

    #[test]
    fn a_free_worker_starts_the_next_bound() {
        let mut plan = Plan::new(2, Bound::Limited(1), StrategyKind::ContextBounded, false);
        let (slow, quick) = (plan.next().unwrap(), plan.next().unwrap());
        assert_eq!(plan.next(), None);
        plan.finish(quick, &HOLDS, 0);
        assert_eq!(plan.next().map(|task| (task.test, task.min_bound)), Some((1, 1)));
        assert!(!plan.is_done());
        plan.finish(slow, &Verdict::RunOnce, 0);
    }
}
