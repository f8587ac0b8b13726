//! The decisions of the current execution as a program wants to have them foreseen, and how far they have been taken.

use crate::program::{BranchPoint, Foreseen, SchedulingPoint};

/// What a program that is not told of everything asks for, in order: points where several threads can go on, and
/// outcomes inside steps.
#[derive(Debug, Default)]
pub(super) struct Script {
    decisions: Vec<Foreseen>,
    /// Those of the running execution that have been taken.
    cursor: usize,
}

impl Script {
    /// The next execution begins, and repeats the first `count` decisions.
    pub(super) fn rewind(&mut self, count: usize) {
        self.decisions.truncate(count);
        self.cursor = 0;
    }

    pub(super) fn decisions(&self) -> &[Foreseen] {
        &self.decisions
    }

    pub(super) fn len(&self) -> usize {
        self.decisions.len()
    }

    /// So many have been taken without asking.
    pub(super) fn skip(&mut self, count: usize) {
        self.cursor += count;
    }

    /// The decision that is asked for, if it is repeated.
    pub(super) fn recall(&mut self) -> Option<Foreseen> {
        let decision = self.decisions.get(self.cursor).copied();
        self.cursor += usize::from(decision.is_some());
        decision
    }

    /// A decision that is not repeated.
    #[inline]
    pub(super) fn push(&mut self, decision: Foreseen) {
        self.decisions.push(decision);
        self.cursor = self.decisions.len();
    }

    /// The decisions up to this one have been taken.
    pub(super) fn seek(&mut self, cursor: usize) {
        self.cursor = cursor;
    }
}

/// Whether a program that is not told of everything asks at this point.
#[inline(always)]
pub(super) fn is_asked(point: &SchedulingPoint<'_>) -> bool {
    !point.early.is_empty() || point.enabled.first().is_none_or(|first| !point.enabled.is_only(first))
}

/// Identifies a branch point. No scheduling point has this place.
pub(super) fn branch_place(point: &BranchPoint) -> u64 {
    (1 << 63) ^ (u64::from(point.count) << 32) ^ point.thread.index() as u64
}
