//! KISS: exactly the balanced executions (Qadeer and Wu, *KISS: Keep It Simple and Sequential*, PLDI 2004, §4).
//!
//! Threads run as nested calls on one stack. At each point the thread on top may go on; a thread that has been spawned
//! and not begun may be called on top of it (`schedule`); or the thread on top is abandoned for good (`RAISE`) and the one
//! below goes on. A thread is never left for one below it and resumed later: written as the sequence of its steps'
//! threads, an execution has no two threads i ≠ j in the order i … j … i … j. At most `max_pending` threads wait to be
//! begun (the paper's multiset *ts* and its MAX); one more is called at once, as if its spawn were a call.
//!
//! The paper translates a program; here the same executions are chosen at the scheduling points of a concurrent one, so
//! there are no false errors: what is reported is an execution of the program itself. Deviations: an execution ends when
//! no thread on the stack or waiting can go on, not at every point (what an abandoned rest would have reached is passed
//! on the way); blocked threads may wait for those called on top of them, as with the paper's `assume`; a thread goes on
//! before its time (an expiry, a spurious wake-up) once in an execution, or loops around waits would have no end. Race checking with
//! a distinguished variable (§5) is left to the race detector, which checks all variables in each execution.
//!
//! Executions in which somebody has been abandoned while it could go on are counted as given up. The search claims
//! nothing about bounds, unless no thread was ever kept from running.

use super::stack::{DecisionStack, branch_place, thread_place};
use crate::program::{
    BranchPoint, Chooser, Outcome, SchedulingPoint, Strategy, ThreadSet, divergence_message,
};
use crate::trace::ThreadId;

/// The search: depth first through the balanced executions.
#[derive(Debug)]
pub struct StackDiscipline {
    max_pending: Option<usize>,
    decisions: DecisionStack,
    started: bool,
    /// Threads on the stack, bottom first.
    stack: Vec<usize>,
    /// Threads that wait to be begun, in the order of their spawns.
    pending: Vec<usize>,
    /// Threads that have been on one of these lists.
    known: ThreadSet,
    /// A thread that must begin now, because one more was spawned than may wait.
    called: Option<usize>,
    candidates: Vec<usize>,
    /// Nobody is abandoned.
    nested: bool,
    /// Threads that have gone on before their time.
    hurried: ThreadSet,
    /// Some thread that could go on was kept from it.
    cut: bool,
}

impl StackDiscipline {
    /// A search in which at most `max_pending` threads wait to be begun; `None`: any number.
    #[must_use]
    pub fn new(max_pending: Option<usize>) -> Self {
        StackDiscipline {
            max_pending,
            decisions: DecisionStack::default(),
            started: false,
            stack: Vec::new(),
            pending: Vec::new(),
            known: ThreadSet::new(),
            called: None,
            candidates: Vec::new(),
            nested: false,
            hurried: ThreadSet::new(),
            cut: false,
        }
    }

    /// The same search without `RAISE`: a thread that has been called on top of another one runs to its end. These are the
    /// executions that can be run as nested calls on one stack.
    #[must_use]
    pub fn nested(self) -> Self {
        StackDiscipline { nested: true, ..self }
    }

    /// The threads on the stack of the running execution, bottom first.
    #[must_use]
    pub fn stack(&self) -> &[usize] {
        &self.stack
    }

    /// Takes note of threads that have been spawned or have ended since the last point.
    fn follow(&mut self, point: &SchedulingPoint<'_>) {
        for thread in 0..point.pending.len() {
            if self.known.contains(thread) || point.ended.contains(thread) {
                continue;
            }
            self.known.insert(thread);
            self.pending.push(thread);
            let full = self.max_pending.is_some_and(|max| self.pending.len() > max);
            if full && point.step > 0 {
                self.called = Some(thread);
            }
        }
        while self.stack.last().is_some_and(|&top| point.ended.contains(top)) {
            self.stack.pop();
        }
    }

    /// Who may take the next step, the first choice first: the thread on top, those that wait, those further down; then
    /// those among them that can only go on early.
    fn find_candidates(&mut self, point: &SchedulingPoint<'_>) {
        self.candidates.clear();
        if let Some(called) = self.called.take() {
            self.candidates.push(called);
            self.cut |= point.enabled.len() > 1 || !point.early.is_empty();
            return;
        }
        let (top, below) = match self.stack.split_last() {
            Some((&top, below)) => (Some(top), below),
            None => (None, &[][..]),
        };
        let below = if self.nested { &[][..] } else { below };
        let order = top.into_iter().chain(self.pending.iter().copied()).chain(below.iter().rev().copied());
        self.candidates.extend(order.clone().filter(|&thread| point.enabled.contains(thread)));
        let hurries = |t: usize| point.is_early(ThreadId::new(t)) && !self.hurried.contains(t);
        self.candidates.extend(order.filter(|&thread| hurries(thread)));
        let early = point.early.iter().filter(|&t| !point.enabled.contains(t));
        self.cut |= self.candidates.len() < point.enabled.len() + early.count();
    }

    /// The thread runs: called on top, or what stands above it is abandoned.
    fn run(&mut self, thread: usize) {
        if let Some(position) = self.pending.iter().position(|&t| t == thread) {
            self.pending.remove(position);
            self.stack.push(thread);
        } else if let Some(position) = self.stack.iter().position(|&t| t == thread) {
            self.stack.truncate(position + 1);
        }
    }
}

impl Chooser for StackDiscipline {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        self.follow(point);
        self.find_candidates(point);
        let (&first, others) = self.candidates.split_first()?;
        let chosen = if others.is_empty() {
            first
        } else {
            let place = thread_place(point);
            match self.decisions.recall(place, || divergence_message(point.step)) {
                Some(known) => known.ok()? as usize,
                None => {
                    self.decisions.decide(first as u32, false, place);
                    for &thread in others.iter().rev() {
                        self.decisions.add_alternative(thread as u32);
                    }
                    first
                }
            }
        };
        if point.is_early(ThreadId::new(chosen)) {
            self.hurried.insert(chosen);
        }
        self.run(chosen);
        Some(ThreadId::new(chosen))
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let place = branch_place(point);
        if let Some(known) = self.decisions.recall(place, || divergence_message(0)) {
            return known.unwrap_or(0);
        }
        self.decisions.decide(0, false, place);
        for index in (1..point.count).rev() {
            self.decisions.add_alternative(index);
        }
        0
    }

    fn wants_every_point(&self) -> bool {
        // The stack changes also where only one thread can go on, and that thread may be an abandoned one.
        true
    }

    fn divergence(&self) -> Option<String> {
        self.decisions.divergence()
    }
}

impl Strategy for StackDiscipline {
    fn begin(&mut self) -> bool {
        let found = !self.started || self.decisions.backtrack(0);
        self.started = true;
        self.decisions.rewind();
        self.stack.clear();
        self.pending.clear();
        self.known.clear();
        self.called = None;
        self.hurried.clear();
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
        (self.decisions.alternative_count() as u64, None)
    }

    fn restart(&mut self) {
        self.decisions.clear();
        self.started = false;
        self.cut = false;
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
