//! Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatti, *A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010, §3).
//!
//! Each thread gets a random high priority when it first can go on; the thread with the highest priority runs. At d − 1
//! random steps the priority of the thread that would run drops below all others. With n threads and k steps, a bug
//! of depth d is found with probability at least 1/(n·k^(d−1)) in each execution.
//!
//! Deviations: k is the longest execution so far, since it is not known before. A thread that yields drops below all
//! others too, else one that spins would run for ever. Threads that can only go on early take part with a probability of
//! 1/16 at each point; the guarantee does not speak of them.

use super::random::Random;
use crate::program::{BranchPoint, Chooser, Outcome, SchedulingPoint, Strategy};
use crate::trace::ThreadId;

/// Steps that an execution is taken to have before one has been run.
const FIRST_GUESS: u64 = 32;

/// The search. It never ends by itself and claims nothing.
#[derive(Clone, Debug)]
pub struct Priority {
    depth: u32,
    seed: u64,
    random: Random,
    longest: u64,
    /// By thread number; higher runs first.
    priorities: Vec<u64>,
    /// Steps at which a priority drops, in descending order.
    changes: Vec<u64>,
    /// What the next dropped thread gets.
    lowest: u64,
}

/// Priorities that threads begin with lie above those that they drop to.
const HIGH: u64 = 1 << 63;

impl Priority {
    /// Looks for bugs of depth `depth`, which is at least 1.
    #[must_use]
    pub fn new(depth: u32, seed: u64) -> Self {
        Priority {
            depth,
            seed,
            random: Random::new(seed),
            longest: 0,
            priorities: Vec::new(),
            changes: Vec::new(),
            lowest: HIGH,
        }
    }

    fn drop_to_the_end(&mut self, thread: usize) {
        self.lowest -= 1;
        self.priorities[thread] = self.lowest;
    }

    fn highest(&self, point: &SchedulingPoint<'_>, with_early: bool) -> Option<usize> {
        let early = point.early.iter().filter(|_| with_early);
        point.enabled.iter().chain(early).max_by_key(|&t| self.priorities[t])
    }
}

impl Chooser for Priority {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let count = point.pending.len();
        while self.priorities.len() < count {
            let priority = HIGH | self.random.bits();
            self.priorities.push(priority);
        }
        if let (true, Some(previous)) = (point.yielded, point.previous) {
            self.drop_to_the_end(previous.index());
        }
        let with_early = !point.early.is_empty() && (point.enabled.is_empty() || self.random.below(16) == 0);
        while self.changes.last().is_some_and(|&step| step <= point.step) {
            self.changes.pop();
            if let Some(thread) = self.highest(point, with_early) {
                self.drop_to_the_end(thread);
            }
        }
        self.highest(point, with_early).map(ThreadId::new)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        self.random.below(u64::from(point.count)) as u32
    }

    fn wants_every_point(&self) -> bool {
        // A priority may drop where only one thread can go on.
        true
    }
}

impl Strategy for Priority {
    fn begin(&mut self) -> bool {
        self.priorities.clear();
        self.lowest = HIGH;
        let steps = if self.longest == 0 { FIRST_GUESS } else { self.longest };
        let random = &mut self.random;
        self.changes = (1..self.depth).map(|_| random.below(steps)).collect();
        self.changes.sort_unstable_by(|a, b| b.cmp(a));
        true
    }

    fn end(&mut self, outcome: &Outcome) {
        self.longest = self.longest.max(outcome.step_count);
    }

    fn bound(&self) -> u32 {
        0
    }

    fn advance(&mut self) -> bool {
        false
    }

    fn claims(&self) -> bool {
        false
    }

    fn is_exhausted(&self) -> bool {
        false
    }

    fn progress(&self) -> (u64, Option<f64>) {
        (0, None)
    }

    fn restart(&mut self) {
        *self = Priority::new(self.depth, self.seed);
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
