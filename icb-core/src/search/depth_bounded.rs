//! Depth-bounded search, once or with a growing depth: what iterative context bounding is compared with (Musuvathi and
//! Qadeer, PLDI 2007, §1 and §4.3; the curves `db:N` and `idfs` of its figures).
//!
//! Only the first `depth` steps of an execution are branch points. The paper's searches abandon an execution at that
//! depth; here it is brought to its end by the default choices, so that what it reaches can be counted in the same
//! terms as for other searches. That favours this search.

use super::stack::{DecisionStack, branch_place, thread_place};
use crate::program::{BranchPoint, Chooser, Outcome, SchedulingPoint, Strategy, divergence_message};
use crate::trace::ThreadId;

/// The depth of the first round of an iterative search, and how much deeper each further round goes.
const ROUND: u64 = 10;

/// The search.
#[derive(Debug)]
pub struct DepthBounded {
    depth: u64,
    first_depth: u64,
    iterative: bool,
    stack: DecisionStack,
    started: bool,
    /// The running execution is beyond the depth.
    beyond: bool,
    /// This round has left something out because of the depth.
    cut: bool,
}

impl DepthBounded {
    /// A search that branches in the first `depth` steps.
    #[must_use]
    pub fn new(depth: u64) -> Self {
        DepthBounded {
            depth,
            first_depth: depth,
            iterative: false,
            stack: DecisionStack::default(),
            started: false,
            beyond: false,
            cut: false,
        }
    }

    /// Searches of growing depth, each from the beginning, until a round leaves nothing out.
    #[must_use]
    pub fn iterative() -> Self {
        DepthBounded { iterative: true, ..DepthBounded::new(ROUND) }
    }
}

impl Chooser for DepthBounded {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let default = point.default_choice();
        if point.step >= self.depth {
            self.beyond = true;
            self.cut = true;
            return Some(default);
        }
        let place = thread_place(point);
        if let Some(known) = self.stack.recall(place, || divergence_message(point.step)) {
            return known.ok().map(|chosen| ThreadId::new(chosen as usize));
        }
        self.stack.decide(default.index() as u32, false, place);
        let early = point.early.iter().filter(|&t| !point.enabled.contains(t));
        for thread in point.enabled.iter().chain(early).filter(|&t| t != default.index()) {
            self.stack.add_alternative(thread as u32);
        }
        Some(default)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        if self.beyond {
            self.cut = true;
            return 0;
        }
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

    fn divergence(&self) -> Option<String> {
        self.stack.divergence()
    }
}

impl Strategy for DepthBounded {
    fn begin(&mut self) -> bool {
        self.beyond = false;
        let mut found = !self.started || self.stack.backtrack(0);
        if !found && self.iterative && self.cut {
            self.depth += ROUND;
            self.cut = false;
            self.stack.clear();
            found = true;
        }
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

    fn claims(&self) -> bool {
        !self.cut
    }

    fn is_exhausted(&self) -> bool {
        !self.cut
    }

    fn progress(&self) -> (u64, Option<f64>) {
        (self.stack.alternative_count() as u64, None)
    }

    fn restart(&mut self) {
        self.stack.clear();
        self.depth = self.first_depth;
        self.started = false;
        self.cut = false;
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
