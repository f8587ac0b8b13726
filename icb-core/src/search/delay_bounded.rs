//! Delay bounding: all executions that depart from a deterministic scheduler at most 0 times, then once, … (Emmi, Qadeer
//! and Rakamarić, *Delay-Bounded Scheduling*, POPL 2011).
//!
//! The deterministic scheduler takes the default choice: the thread that ran before, else the next one in turn. A delay
//! skips the thread that would be next; letting the k-th thread in turn run costs k delays. Unlike a preemption, a
//! switch away from a blocked thread is not free where more than one thread could follow. Threads that could go on
//! before their time come last in turn. Free outcomes of a step (which waiter wakes, `choose`) stay free; costly ones cost 1.
//!
//! Each bound is searched from the beginning: it runs the executions of lower bounds again.

use super::stack::{DecisionStack, branch_place, thread_place};
use crate::program::{BranchPoint, Chooser, Outcome, SchedulingPoint, Strategy, divergence_message};
use crate::trace::ThreadId;

/// The search.
#[derive(Debug)]
pub struct DelayBounded {
    max_bound: Option<u32>,
    bound: u32,
    stack: DecisionStack,
    started: bool,
    /// Delays of the running execution.
    spent: u32,
    /// This bound has left something out.
    cut: bool,
}

impl DelayBounded {
    /// A search with 0 to `max_bound` delays; `None`: until nothing is left.
    #[must_use]
    pub fn new(max_bound: Option<u32>) -> Self {
        DelayBounded {
            max_bound,
            bound: 0,
            stack: DecisionStack::default(),
            started: false,
            spent: 0,
            cut: false,
        }
    }

    fn offer(&mut self, option: u32, delays: u32) {
        if self.spent + delays <= self.bound {
            self.stack.add_alternative(option);
        } else {
            self.cut = true;
        }
    }
}

/// The threads in the order in which the deterministic scheduler would let them run.
fn in_turn<'a>(point: &'a SchedulingPoint<'_>, first: usize) -> impl Iterator<Item = usize> + 'a {
    let later = point.enabled.iter().filter(move |&t| t > first);
    let earlier = point.enabled.iter().filter(move |&t| t < first);
    let early = point.early.iter().filter(move |&t| t != first && !point.enabled.contains(t));
    std::iter::once(first).chain(later).chain(earlier).chain(early)
}

impl Chooser for DelayBounded {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let place = thread_place(point);
        let default = point.default_choice();
        if let Some(known) = self.stack.recall(place, || divergence_message(point.step)) {
            let chosen = known.ok()? as usize;
            let delays = in_turn(point, default.index()).position(|t| t == chosen);
            self.spent += delays.unwrap_or(0) as u32;
            return Some(ThreadId::new(chosen));
        }
        self.stack.decide(default.index() as u32, false, place);
        for (delays, thread) in (0..).zip(in_turn(point, default.index())).skip(1) {
            self.offer(thread as u32, delays);
        }
        Some(default)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let place = branch_place(point);
        if let Some(known) = self.stack.recall(place, || divergence_message(0)) {
            let chosen = known.unwrap_or(0);
            self.spent += point.cost(chosen);
            return chosen;
        }
        self.stack.decide(0, false, place);
        for index in 1..point.count {
            self.offer(index, point.cost(index));
        }
        0
    }

    fn divergence(&self) -> Option<String> {
        self.stack.divergence()
    }
}

impl Strategy for DelayBounded {
    fn begin(&mut self) -> bool {
        let found = !self.started || self.stack.backtrack(0);
        self.started = true;
        self.stack.rewind();
        self.spent = 0;
        found
    }

    fn end(&mut self, _: &Outcome) {}

    fn bound(&self) -> u32 {
        self.bound
    }

    fn advance(&mut self) -> bool {
        if !self.cut || self.max_bound.is_some_and(|max| self.bound >= max) {
            return false;
        }
        self.bound += 1;
        self.stack.clear();
        self.started = false;
        self.cut = false;
        true
    }

    fn claims(&self) -> bool {
        // So many delays are not so many preemptions: only the whole says something about all executions.
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
        self.bound = 0;
        self.started = false;
        self.cut = false;
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
