//! Plain depth-first search without a bound: the latest decision is changed first.

use super::stack::{DecisionStack, branch_place, thread_place};
use crate::program::{
    BranchPoint, Chooser, Foreseen, Outcome, SchedulingPoint, Strategy, divergence_message,
};
use crate::trace::ThreadId;

/// The search. It tries every execution, whatever it costs; early expiries and spurious failures included.
#[derive(Debug, Default)]
pub struct DepthFirst {
    stack: DecisionStack,
    started: bool,
}

impl DepthFirst {
    /// A search from the start.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Chooser for DepthFirst {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let place = thread_place(point);
        if let Some(known) = self.stack.recall(place, || divergence_message(point.step)) {
            return known.ok().map(|chosen| ThreadId::new(chosen as usize));
        }
        let default = point.default_choice();
        self.stack.decide(default.index() as u32, false, place);
        let others = point.enabled.iter().chain(point.early.iter().filter(|&t| !point.enabled.contains(t)));
        for thread in others.filter(|&t| t != default.index()) {
            self.stack.add_alternative(thread as u32);
        }
        Some(default)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let place = branch_place(point);
        if let Some(known) = self.stack.recall(place, || divergence_message(0)) {
            return known.unwrap_or(0);
        }
        self.stack.decide(0, false, place);
        for index in 1..point.count {
            self.stack.add_alternative(index);
        }
        0
    }

    fn foreseen(&self) -> &[Foreseen] {
        self.stack.foreseen()
    }

    fn skip(&mut self, count: usize) {
        self.stack.skip(count);
    }

    fn divergence(&self) -> Option<String> {
        self.stack.divergence()
    }
}

impl Strategy for DepthFirst {
    fn begin(&mut self) -> bool {
        let found = if self.started { self.stack.backtrack(0) } else { true };
        self.started = true;
        self.stack.rewind();
        found
    }

    fn end(&mut self, _: &Outcome) {}

    fn bound(&self) -> u32 {
        0
    }

    fn advance(&mut self) -> bool {
        false
    }

    fn is_exhausted(&self) -> bool {
        true
    }

    fn progress(&self) -> (u64, Option<f64>) {
        (self.stack.alternative_count() as u64, None)
    }

    fn restart(&mut self) {
        self.stack.clear();
        self.started = false;
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
