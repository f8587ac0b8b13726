//! How long a run may go on, and how long each of its tests: time and executions are shared fairly among the tests that
//! still stand, so that low bounds of all come before high bounds of a few.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The least time that is worth starting a process for.
const LEAST_SHARE: Duration = Duration::from_millis(300);

/// A task that takes longer goes on when everything else has had its turn, also where there is time without end.
const TURN: Duration = Duration::from_secs(10);

/// Why a run stops that has had its time.
pub(crate) const OUT_OF_TIME: &str = "stopped by the run's limit on time";

/// Why a run stops that has had its executions.
pub(crate) const OUT_OF_EXECUTIONS: &str = "stopped by the run's limit on executions";

/// What is left of a run.
pub(crate) struct Budget {
    deadline: Option<Instant>,
    max_executions: Option<u64>,
    jobs: usize,
    /// Tests that may still be run.
    standing: AtomicUsize,
    /// Executions of each test: of tasks that are over, and of the one at work.
    executions: Vec<[AtomicU64; 2]>,
}

/// Why a task is to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The run is over.
    Run(&'static str),
    /// It has had its share.
    Share,
}

impl Budget {
    /// A run of so many tests that begins now.
    pub(crate) fn new(
        test_count: usize,
        jobs: usize,
        seconds: Option<f64>,
        max_executions: Option<u64>,
    ) -> Budget {
        Budget {
            deadline: seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds)),
            max_executions,
            jobs,
            standing: AtomicUsize::new(test_count),
            executions: (0..test_count).map(|_| Default::default()).collect(),
        }
    }

    /// When a task that begins now has had its share of the time. Where there is no limit that is only for those that `go_on` later.
    pub(crate) fn share(&self, go_on: bool) -> Option<Instant> {
        let now = Instant::now();
        let standing = self.standing.load(Ordering::Relaxed).max(1);
        let Some(deadline) = self.deadline else {
            return (go_on && standing > self.jobs).then(|| now + TURN);
        };
        let left = deadline.saturating_duration_since(now);
        let share = left.mul_f64((self.jobs as f64 / standing as f64).min(1.0));
        Some(now + share.max(LEAST_SHARE))
    }

    /// Whether a task with this share has to stop.
    pub(crate) fn end(&self, share: Option<Instant>) -> Option<End> {
        let now = Instant::now();
        if self.is_out_of_time() {
            return Some(End::Run(OUT_OF_TIME));
        }
        if self.executions_left(None) == Some(0) {
            return Some(End::Run(OUT_OF_EXECUTIONS));
        }
        share.is_some_and(|share| now >= share).then_some(End::Share)
    }

    /// How many executions the run may still have, if there is a limit; those of a test's task at work are counted unless it is that
    /// task that asks: a process that goes on with a task counts what has been done of it.
    pub(crate) fn executions_left(&self, asking: Option<usize>) -> Option<u64> {
        let own = asking.map_or(0, |test| self.executions[test][1].load(Ordering::Relaxed));
        let counts = self.executions.iter().flatten().map(|count| count.load(Ordering::Relaxed));
        Some(self.max_executions?.saturating_sub(counts.sum::<u64>().saturating_sub(own)))
    }

    /// Whether the run has had its time.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// So many executions of a test's task have been run.
    pub(crate) fn note(&self, test: usize, executions: u64) {
        self.executions[test][1].store(executions, Ordering::Relaxed);
    }

    /// A task of the test is over. Executions of the test before it.
    pub(crate) fn finish(&self, test: usize, executions: u64) -> u64 {
        self.executions[test][1].store(0, Ordering::Relaxed);
        self.executions[test][0].fetch_add(executions, Ordering::Relaxed)
    }

    /// The test is over.
    pub(crate) fn leave(&self) {
        let _ = self.standing.try_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shared_among_the_tests_that_stand() {
        let budget = Budget::new(10, 2, Some(100.0), None);
        let seconds = |budget: &Budget| (budget.share(false).unwrap() - Instant::now()).as_secs_f64().round();
        assert_eq!(seconds(&budget), 20.0);
        (0..6).for_each(|_| budget.leave());
        assert_eq!(seconds(&budget), 50.0);
        (0..6).for_each(|_| budget.leave());
        assert_eq!(seconds(&budget), 100.0);
        assert_eq!(budget.end(None), None);
        assert_eq!(budget.end(Some(Instant::now())), Some(End::Share));
        assert!(matches!(Budget::new(1, 1, Some(0.0), None).end(None), Some(End::Run(_))));
    }

    #[test]
    fn without_a_limit_tests_take_turns() {
        let budget = Budget::new(3, 2, None, None);
        assert!(budget.share(true).is_some() && budget.share(false).is_none());
        budget.leave();
        assert_eq!(budget.share(true), None);
    }

    #[test]
    fn executions_of_all_tests_count() {
        let budget = Budget::new(2, 1, None, Some(30));
        assert_eq!(budget.finish(0, 10), 0);
        budget.note(1, 19);
        assert_eq!((budget.end(None), budget.executions_left(None)), (None, Some(1)));
        assert_eq!(budget.executions_left(Some(1)), Some(20));
        budget.note(1, 20);
        assert!(matches!(budget.end(None), Some(End::Run(_))));
    }
}
