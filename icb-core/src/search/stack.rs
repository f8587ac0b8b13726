//! The decisions of the current execution, with the alternatives that are still to be tried: what a stateless
//! depth-first search remembers. Memory is proportional to the length of one execution.

use crate::program::{BranchPoint, Foreseen, SchedulingPoint};

/// What else is known of a decision.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// Its alternatives start here in `alternatives` and end where those of the next decision start.
    alternatives: u32,
    /// It is not the default choice.
    deviates: bool,
}

/// Decisions of the current execution.
#[derive(Debug, Default)]
pub(super) struct DecisionStack {
    /// Points where more than one thread could go on, or one of several outcomes had to be chosen, and the choices.
    decisions: Vec<Foreseen>,
    /// One for each decision.
    origins: Vec<Origin>,
    alternatives: Vec<u32>,
    /// Decisions of the running execution that have been asked for.
    cursor: usize,
    divergence: Option<String>,
}

impl DecisionStack {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.truncate(0);
        self.cursor = 0;
        self.divergence = None;
    }

    /// Keeps the first `count` decisions only.
    pub(super) fn truncate(&mut self, count: usize) {
        if let Some(origin) = self.origins.get(count) {
            self.alternatives.truncate(origin.alternatives as usize);
        }
        self.decisions.truncate(count);
        self.origins.truncate(count);
    }

    /// Goes back to the decision and takes another choice there. `false`: there is no such decision any more.
    pub(super) fn branch_off(&mut self, decision: usize, option: u32) -> bool {
        if decision >= self.decisions.len() || self.divergence.is_some() {
            return false;
        }
        self.truncate(decision + 1);
        self.decisions[decision].chosen = option;
        self.origins[decision].deviates = true;
        true
    }

    /// So many decisions, no more than `most`, are those of a prefix with these deviations (number and choice).
    pub(super) fn shared(&self, deviations: &[(u32, u32)], most: usize) -> usize {
        let mut theirs = deviations.iter().copied();
        // Up to the first deviation that only one of the two has.
        let mut count = u32::MAX;
        for mine in self.deviations() {
            let other = theirs.next();
            if other != Some(mine) {
                count = other.map_or(mine.0, |(index, _)| index.min(mine.0));
                break;
            }
        }
        count = theirs.next().map_or(count, |(index, _)| index.min(count));
        (count as usize).min(self.decisions.len()).min(most)
    }

    /// The decisions that the next execution repeats.
    pub(super) fn foreseen(&self) -> &[Foreseen] {
        if self.divergence.is_none() { &self.decisions } else { &[] }
    }

    /// So many decisions have been taken without asking.
    pub(super) fn skip(&mut self, count: usize) {
        self.cursor += count;
    }

    /// The execution is about to run from the start.
    pub(super) fn rewind(&mut self) {
        self.cursor = 0;
    }

    /// Number of the decision that is asked for.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Whether the next decision has been taken before.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        self.cursor < self.decisions.len()
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
        self.decisions.push(Foreseen { place, chosen });
        self.origins.push(Origin { alternatives, deviates });
        self.cursor += 1;
    }

    /// Adds an alternative to the newest decision. The last one added is tried first.
    #[inline]
    pub(super) fn add_alternative(&mut self, option: u32) {
        self.alternatives.push(option);
    }

    /// Changes the last decision that has an alternative left; the first `floor` decisions stay as they are. `false`:
    /// there is none.
    pub(super) fn backtrack(&mut self, floor: usize) -> bool {
        while self.decisions.len() > floor
            && let (Some(decision), Some(origin)) = (self.decisions.last_mut(), self.origins.last_mut())
        {
            if self.alternatives.len() > origin.alternatives as usize
                && let Some(option) = self.alternatives.pop()
            {
                decision.chosen = option;
                origin.deviates = true;
                return true;
            }
            self.decisions.pop();
            self.origins.pop();
        }
        false
    }

    /// Decisions that are not the default: number and choice.
    pub(super) fn deviations(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let all = self.decisions.iter().zip(&self.origins).enumerate();
        all.filter(|(_, (_, origin))| origin.deviates).map(|(index, (d, _))| (index as u32, d.chosen))
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
    Foreseen::place(point.place, point.enabled, point.early)
}

/// Identifies a branch point.
pub(super) fn branch_place(point: &BranchPoint) -> u64 {
    (u64::from(point.count) << 32)
        ^ ((point.thread.index() as u64) << 1)
        ^ u64::from(point.costly)
        ^ (1 << 63)
}
