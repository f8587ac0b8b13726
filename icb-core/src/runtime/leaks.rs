//! Leaks: memory that an execution allocates and nobody ever frees.
//!
//! The engine, std and other libraries keep memory from one execution to the next: vectors that have grown, caches that
//! are filled once. So an execution that leaves memory behind is run twice more, by the same schedule (oftener, until two
//! runs in a row agree), and what counts is
//! a block that was left behind by the second run and not freed by the third, which left the same one behind again. The
//! value of a static that is replaced in every execution is thus no leak, nor is what a static leads to when the execution is over (a table
//! that is made when it is first used, and kept for ever). A block whose allocation the engine itself
//! asked for is none either; the innermost frame outside std says so.

use super::CoroutineProgram;
use super::ledger::Unfreed;
use crate::program::{BranchPoint, Chooser, End, SchedulingPoint};
use crate::trace::{Failure, FailureKind, Frame, Schedule, ScheduleEntry, ThreadId, table};

/// Leaks that are told of one by one, at most.
const MAX_TOLD: usize = 4;

/// So many further runs are made where two runs do not leave the same blocks behind.
const MAX_UNSETTLED: usize = 3;

/// Chooses what a schedule says.
pub(super) struct Again {
    threads: Vec<ThreadId>,
    branches: std::vec::IntoIter<u32>,
}

impl Again {
    pub(super) fn new(schedule: &Schedule) -> Again {
        let (mut threads, mut branches) = (Vec::new(), Vec::new());
        for entry in schedule.entries() {
            match *entry {
                ScheduleEntry::Run { thread, .. } => threads.push(thread),
                ScheduleEntry::Branch { index, .. } => branches.push(index),
            }
        }
        Again { threads, branches: branches.into_iter() }
    }
}

impl Chooser for Again {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let thread = *self.threads.get(point.step as usize)?;
        let can = point.enabled.contains(thread.index()) || point.early.contains(thread.index());
        can.then_some(thread)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        self.branches.next().unwrap_or(0).min(point.count - 1)
    }

    fn wants_every_point(&self) -> bool {
        true
    }
}

impl CoroutineProgram {
    /// What the execution that has just passed leaks, if it does; in a replay, with what became of the first block.
    pub(super) fn find_leaks(&mut self, replays: bool) -> Option<Failure> {
        if self.running.with(|e| e.ledger.unfreed().is_empty()) {
            return None;
        }
        let schedule = self.running.with(|e| e.tape.schedule());
        let mut suspects = self.unfreed_by(&schedule, false)?;
        let mut again = self.once_more(&schedule, &suspects, replays)?;
        for _ in 0..MAX_UNSETTLED {
            if suspects.iter().map(|block| block.ordinal).eq(again.iter().map(|block| block.ordinal)) {
                break;
            }
            // Something was allocated that the engine keeps from now on, and the numbers have moved.
            suspects = again;
            again = self.once_more(&schedule, &suspects, replays)?;
        }
        let came_back = |block: &&Unfreed| {
            again.iter().any(|other| (other.ordinal, other.size) == (block.ordinal, block.size))
        };
        let left = suspects.iter().filter(came_back);
        let left: Vec<Unfreed> =
            self.running.with(|e| left.filter(|block| e.ledger.is_unfreed(block)).copied().collect());
        let mut leaks: Vec<(usize, Vec<Frame>)> = Vec::new();
        let mut history = Vec::new();
        for block in left {
            let frames = self.running.with(|e| e.ledger.trace(block.ordinal));
            if !is_of_engine(&frames) {
                if leaks.is_empty() {
                    let same = again.iter().find(|other| other.ordinal == block.ordinal);
                    history = same
                        .map_or_else(Vec::new, |same| self.running.with(|e| e.ledger.history(same.start)));
                }
                leaks.push((block.size, frames));
            }
        }
        leaks.first()?;
        let mut failure = tell(leaks);
        failure.memory = history;
        failure.bound = schedule.preemption_count();
        failure.schedule = schedule;
        Some(failure)
    }

    /// [`unfreed_by`](Self::unfreed_by), with the backtraces of the allocations of these blocks.
    fn once_more(
        &mut self,
        schedule: &Schedule,
        suspects: &[Unfreed],
        histories: bool,
    ) -> Option<Vec<Unfreed>> {
        let ordinals = suspects.iter().map(|block| block.ordinal).collect();
        self.running.with(|e| e.ledger.want(ordinals));
        self.unfreed_by(schedule, histories)
    }

    /// Runs the execution of this schedule once more; the blocks that it leaves behind. `None` if it does something else.
    fn unfreed_by(&mut self, schedule: &Schedule, histories: bool) -> Option<Vec<Unfreed>> {
        let outcome = self.run_once(&mut Again::new(schedule), None, histories);
        let passed = matches!(outcome.end, End::Passed);
        self.running.with(|e| (passed && e.tape.schedule() == *schedule).then(|| e.ledger.unfreed()))
    }
}

/// Whether the engine asked for the block: the innermost frame that is not std's or the allocator's is its own.
fn is_of_engine(frames: &[Frame]) -> bool {
    let function = |frame: &Frame| frame.function.trim_start_matches(['<', '&', '(']).to_owned();
    let inner = [
        "std::",
        "core::",
        "alloc::",
        "backtrace::",
        "hashbrown::",
        "__rust",
        "__rg",
        "icb_core::runtime::ledger",
        "icb_core::runtime::backtrace",
        "icb_core::runtime::allocator",
        "icb_core::runtime::hashing",
    ];
    let first = frames.iter().map(function).find(|name| !inner.iter().any(|begin| name.starts_with(begin)));
    first.is_some_and(|name| name.starts_with("icb_core::"))
}

fn tell(leaks: Vec<(usize, Vec<Frame>)>) -> Failure {
    let count = leaks.len();
    let bytes: usize = leaks.iter().map(|(size, _)| size).sum();
    let (blocks, are) = if count == 1 { ("block", "is") } else { ("blocks", "are") };
    let mut message = format!("{count} {blocks} of memory ({bytes} bytes) {are} never freed");
    let place = |frames: &[Frame]| table::place_in_program(frames).cloned();
    for (size, frames) in leaks.iter().take(MAX_TOLD) {
        if let Some(place) = place(frames) {
            message += &format!("\n{size} bytes, allocated at {place}");
        }
    }
    if count > MAX_TOLD {
        message += &format!("\nand {} more", count - MAX_TOLD);
    }
    let mut failure = Failure::new(FailureKind::Leak, message);
    if let Some((_, frames)) = leaks.into_iter().next() {
        failure.location = place(&frames);
        failure.trace.failure_backtrace = frames;
    }
    failure
}
