//! Replays one schedule, step by step, and notices where the program does not follow it.

use crate::program::{BranchPoint, Chooser, SchedulingPoint};
use crate::trace::{Schedule, ScheduleEntry, ThreadId};

/// Why a schedule does not fit.
const ANOTHER_VERSION: &str = "the schedule is of another version of the test, or the test depends on something outside \
                               the model (the real clock, random hashing, an address, a global)";

/// Chooses what a schedule says; after its end, the default.
#[derive(Debug)]
pub struct Replay {
    threads: Vec<ThreadId>,
    branches: Vec<u32>,
    next_branch: usize,
    divergence: Option<String>,
}

impl Replay {
    /// Replays this schedule.
    #[must_use]
    pub fn new(schedule: &Schedule) -> Self {
        let mut replay =
            Replay { threads: Vec::new(), branches: Vec::new(), next_branch: 0, divergence: None };
        for entry in schedule.entries() {
            match *entry {
                ScheduleEntry::Run { thread, .. } => replay.threads.push(thread),
                ScheduleEntry::Branch { index, .. } => replay.branches.push(index),
            }
        }
        replay
    }

    /// The program has not followed the schedule: where, and why.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.divergence.as_deref()
    }

    /// What there is to say of an execution that has ended with fewer steps than the schedule has.
    #[must_use]
    pub fn unfinished(&self, steps: usize) -> Option<String> {
        (steps < self.threads.len()).then(|| {
            format!(
                "the execution ends before step {steps} of the schedule, which has {}: {ANOTHER_VERSION}",
                self.threads.len()
            )
        })
    }

    fn diverge(&mut self, message: String) {
        self.divergence.get_or_insert(message);
    }
}

impl Chooser for Replay {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let Some(&thread) = self.threads.get(point.step as usize) else {
            return Some(point.default_choice());
        };
        let index = thread.index();
        if point.enabled.contains(index) || point.early.contains(index) {
            return Some(thread);
        }
        let reason = match point.pending.get(index) {
            None => "has not been spawned".to_owned(),
            Some(operation) => {
                format!("cannot go on there (it is about to perform {:?}, or has ended)", operation.action)
            }
        };
        let step = point.step;
        self.diverge(format!(
            "step {step} of the schedule belongs to {thread}, which {reason}: {ANOTHER_VERSION}"
        ));
        None
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let index = self.branches.get(self.next_branch).copied().unwrap_or(0);
        self.next_branch += 1;
        if index >= point.count {
            self.diverge(format!(
                "the schedule takes outcome {index} of a step that has only {} outcomes: it is of another version of the test",
                point.count
            ));
            return 0;
        }
        index
    }

    fn wants_every_point(&self) -> bool {
        true
    }

    fn divergence(&self) -> Option<String> {
        self.divergence.clone()
    }
}
