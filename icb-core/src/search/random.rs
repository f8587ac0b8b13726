//! A random walk through the executions, and the random numbers of the strategies.

use crate::mixing::mixed;
use crate::program::{BranchPoint, Chooser, Outcome, SchedulingPoint, Strategy};
use crate::trace::ThreadId;

/// A small generator of random numbers (SplitMix64): the same numbers on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }
}

/// At each point every thread that can go on, early ones included, is equally likely. It never ends by itself and claims
/// nothing; the same execution may be run many times.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    random: Random,
    seed: u64,
}

impl RandomWalk {
    /// The walk with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        RandomWalk { random: Random::new(seed), seed }
    }
}

impl Chooser for RandomWalk {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let early = || point.early.iter().filter(|&t| !point.enabled.contains(t));
        let count = point.enabled.len() + early().count();
        let index = self.random.below(count as u64) as usize;
        point.enabled.iter().chain(early()).nth(index).map(ThreadId::new)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        self.random.below(u64::from(point.count)) as u32
    }
}

impl Strategy for RandomWalk {
    fn begin(&mut self) -> bool {
        true
    }

    fn end(&mut self, _: &Outcome) {}

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
        self.random = Random::new(self.seed);
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
