//! The decisions of the current execution, with the alternatives that are still to be tried: what a stateless
//! depth-first search remembers. Memory is proportional to the length of one execution.

use crate::program::{BranchPoint, SchedulingPoint};

/// One decision: a point where more than one thread could go on, or one of several outcomes had to be chosen.
#[derive(Clone, Copy, Debug)]
struct Decision {
    chosen: u32,
    /// Its alternatives start here in `alternatives` and end where those of the next decision start.
    alternatives: u32,
    /// Identifies the point; a replay that comes to another one has diverged.
    place: u64,
    /// It is not the default choice.
    deviates: bool,
}

/// Decisions of the current execution.
#[derive(Debug, Default)]
pub(super) struct DecisionStack {
    decisions: Vec<Decision>,
    alternatives: Vec<u32>,
    /// Decisions of the running execution that have been asked for.
    cursor: usize,
    divergence: Option<String>,
}

impl DecisionStack {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.decisions.clear();
        self.alternatives.clear();
        self.cursor = 0;
        self.divergence = None;
    }

    /// The execution is about to run from the start.
    pub(super) fn rewind(&mut self) {
        self.cursor = 0;
    }

    /// Number of the decision that is asked for.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// The decision that is asked for, if it has been taken in an earlier execution.
    #[inline]
    pub(super) fn recall(
        &mut self,
        place: u64,
        describe: impl FnOnce() -> String,
    ) -> Option<Result<u32, ()>> {
        let decision = self.decisions.get(self.cursor)?;
        if decision.place != place {
            self.diverge(describe());
            return Some(Err(()));
        }
        self.cursor += 1;
        Some(Ok(decision.chosen))
    }

    /// Takes a new decision.
    #[inline]
    pub(super) fn decide(&mut self, chosen: u32, deviates: bool, place: u64) {
        let alternatives = self.alternatives.len() as u32;
        self.decisions.push(Decision { chosen, alternatives, place, deviates });
        self.cursor += 1;
    }

    /// Adds an alternative to the newest decision. The last one added is tried first.
    #[inline]
    pub(super) fn add_alternative(&mut self, option: u32) {
        self.alternatives.push(option);
    }

    /// Changes the last decision that has an alternative left. `false`: there is none.
    pub(super) fn backtrack(&mut self) -> bool {
        while let Some(decision) = self.decisions.last_mut() {
            if self.alternatives.len() > decision.alternatives as usize
                && let Some(option) = self.alternatives.pop()
            {
                decision.chosen = option;
                decision.deviates = true;
                return true;
            }
            self.decisions.pop();
        }
        false
    }

    /// Decisions that are not the default: number and choice.
    pub(super) fn deviations(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let all = self.decisions.iter().enumerate();
        all.filter(|(_, d)| d.deviates).map(|(index, d)| (index as u32, d.chosen))
    }

    /// A digest of the first decisions' places.
    pub(super) fn digest(&self, count: usize) -> u32 {
        let places = self.decisions.iter().take(count).map(|d| d.place);
        let digest = places
            .fold(0u64, |digest, place| digest.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ place);
        (digest ^ (digest >> 32)) as u32
    }

    pub(super) fn diverge(&mut self, message: String) {
        self.divergence.get_or_insert(message);
    }

    pub(super) fn divergence(&self) -> Option<String> {
        self.divergence.clone()
    }

    /// Alternatives that are left.
    pub(super) fn alternative_count(&self) -> usize {
        self.alternatives.len()
    }
}

/// Identifies a scheduling point.
#[inline]
pub(super) fn thread_place(point: &SchedulingPoint<'_>) -> u64 {
    point.place
        ^ point.enabled.digest().wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ point.early.digest().wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
}

/// Identifies a branch point.
pub(super) fn branch_place(point: &BranchPoint) -> u64 {
    (u64::from(point.count) << 32)
        ^ ((point.thread.index() as u64) << 1)
        ^ u64::from(point.costly)
        ^ (1 << 63)
}
