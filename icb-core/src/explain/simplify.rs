//! The simplest failure: of the executions that fail with as few preemptions, one with the fewest context switches,
//! and of these one with the fewest steps.
//!
//! Iterative context bounding promises the fewest preemptions (PLDI 2007, §1); this goes on from there. Blocks of steps
//! are moved together first, which is quick and mostly enough; then every execution with so few preemptions is run,
//! as far as time allows.

use super::is_same;
use crate::program::{BranchPoint, Chooser, End, Program, SchedulingPoint, Strategy};
use crate::search::ContextBounded;
use crate::trace::{Failure, Schedule, ScheduleEntry, Simplified, ThreadId};
use std::collections::VecDeque;
use std::time::Instant;

/// How simple a schedule is: less is simpler.
fn measure(schedule: &Schedule) -> (u32, u32, u32) {
    let mut previous = None;
    let (mut switches, mut steps) = (0, 0);
    for entry in schedule.entries() {
        if let ScheduleEntry::Run { thread, .. } = *entry {
            switches += u32::from(previous.is_some_and(|before: ThreadId| before != thread));
            steps += 1;
            previous = Some(thread);
        }
    }
    (schedule.preemption_count(), switches, steps)
}

/// Looks for a simpler failure until the time is over. `None` in place of the failure: there is none, or none was
/// found.
pub fn simplify(
    program: &mut dyn Program,
    failure: &Failure,
    until: Instant,
) -> (Option<Failure>, Simplified) {
    let mut search = Search { program, failure, best: None, executions: 0 };
    search.move_blocks(until);
    let exhausted = search.try_all(until);
    search.summed_up(exhausted, false)
}

/// The same, by moving blocks alone: of a program that runs each execution elsewhere, what its chooser has learned does not come back.
pub(crate) fn move_blocks(
    program: &mut dyn Program,
    failure: &Failure,
    until: Instant,
) -> (Option<Failure>, Simplified) {
    let mut search = Search { program, failure, best: None, executions: 0 };
    let all_moved = search.move_blocks(until);
    search.summed_up(false, all_moved)
}

struct Search<'a> {
    program: &'a mut dyn Program,
    failure: &'a Failure,
    best: Option<Failure>,
    executions: u64,
}

impl Search<'_> {
    /// What it has come to.
    fn summed_up(self, exhausted: bool, moves_only: bool) -> (Option<Failure>, Simplified) {
        let found = measure(&self.failure.schedule);
        let now = self.best.as_ref().map_or(found, |best| measure(&best.schedule));
        let simplified = Simplified {
            switches: (found.1, now.1),
            steps: (found.2, now.2),
            executions: self.executions,
            exhausted,
            moves_only,
        };
        (self.best, simplified)
    }

    fn schedule(&self) -> &Schedule {
        &self.best.as_ref().unwrap_or(self.failure).schedule
    }

    /// Takes over an execution that fails in the same way and is simpler.
    fn note(&mut self, end: End) -> bool {
        self.executions += 1;
        let End::Failed(other) = end else { return false };
        let simpler = is_same(self.failure, &other) && measure(&other.schedule) < measure(self.schedule());
        if simpler {
            let execution = self.failure.execution;
            self.best = Some(Failure { execution, ..*other });
        }
        simpler
    }

    /// Joins each block of steps with the next or the one before of its thread, as long as that makes it simpler. Whether there was time
    /// for all.
    fn move_blocks(&mut self, until: Instant) -> bool {
        let mut again = true;
        while again {
            again = false;
            let blocks = blocks(self.schedule());
            'moves: for from in 0..blocks.len() {
                let thread = blocks[from].0;
                let before = (0..from).rev().find(|&other| blocks[other].0 == thread);
                let after = (from + 1..blocks.len()).find(|&other| blocks[other].0 == thread);
                for to in [before, after].into_iter().flatten() {
                    if Instant::now() >= until {
                        return false;
                    }
                    let mut moved = blocks.clone();
                    let count = std::mem::take(&mut moved[from].1);
                    moved[to].1 += count;
                    let mut chooser = Follow::new(&moved, self.schedule());
                    let outcome = self.program.run(&mut chooser, None);
                    if self.note(outcome.end) {
                        again = true;
                        break 'moves;
                    }
                }
            }
        }
        true
    }

    /// Runs every execution with as few preemptions. Whether all have been run.
    fn try_all(&mut self, until: Instant) -> bool {
        let mut strategy = ContextBounded::new(Some(self.failure.schedule.preemption_count()));
        loop {
            while strategy.begin() {
                if Instant::now() >= until {
                    return false;
                }
                let outcome = self.program.run(strategy.chooser(), None);
                strategy.end(&outcome);
                if outcome.promoted {
                    return false;
                }
                self.note(outcome.end);
            }
            if !strategy.advance() {
                return true;
            }
        }
    }
}

/// The steps of a schedule, those that one thread takes in a row together.
fn blocks(schedule: &Schedule) -> Vec<(ThreadId, usize)> {
    let mut blocks: Vec<(ThreadId, usize)> = Vec::new();
    for entry in schedule.entries() {
        let ScheduleEntry::Run { thread, .. } = *entry else { continue };
        match blocks.last_mut() {
            Some((last, count)) if *last == thread => *count += 1,
            _ => blocks.push((thread, 1)),
        }
    }
    blocks
}

/// Takes blocks of steps one after another; where a thread cannot go on, the next one does.
struct Follow {
    blocks: VecDeque<(ThreadId, usize)>,
    branches: VecDeque<u32>,
}

impl Follow {
    fn new(blocks: &[(ThreadId, usize)], schedule: &Schedule) -> Self {
        let branch = |entry: &ScheduleEntry| match *entry {
            ScheduleEntry::Branch { index, .. } => Some(index),
            ScheduleEntry::Run { .. } => None,
        };
        Follow {
            blocks: blocks.iter().copied().filter(|block| block.1 > 0).collect(),
            branches: schedule.entries().iter().filter_map(branch).collect(),
        }
    }
}

impl Chooser for Follow {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let can = |block: &(ThreadId, usize)| point.enabled.contains(block.0.index());
        let Some(position) = self.blocks.iter().position(can) else { return Some(point.default_choice()) };
        let (thread, count) = self.blocks[position];
        if count == 1 {
            self.blocks.remove(position);
        } else {
            self.blocks[position].1 -= 1;
        }
        Some(thread)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        self.branches.pop_front().filter(|&index| index < point.count).unwrap_or(0)
    }

    fn wants_every_point(&self) -> bool {
        true
    }
}
