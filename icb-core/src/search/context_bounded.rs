//! Iterative context bounding: all executions with 0 preemptions, then with 1, 2, … (Musuvathi and Qadeer, PLDI
//! 2007, Algorithm 1).
//!
//! As in the paper, what a bound may not afford becomes a work item of a later one, so no execution is run twice.
//! Where the paper keeps (state, thread), a stateless search keeps the choices that lead there; running an item
//! repeats its prefix, which is the price of keeping no states. Within a bound the free choices (after a thread has
//! blocked, ended or yielded) are tried depth first. An execution owns the branch points after its last choice that
//! is not the default one; those before it are owned by the execution it branched off from. So every item is made
//! exactly once.

use super::frontier::{Frontier, Group, Position};
use super::spill::Spill;
use super::stack::{DecisionStack, branch_place, thread_place};
use crate::program::{
    BranchPoint, Chooser, Everything, Foreseen, Outcome, Reduction, SchedulingPoint, Strategy,
    divergence_message,
};
use crate::trace::ThreadId;
use std::collections::VecDeque;
use std::sync::Arc;

/// A branch that the current bound cannot afford.
#[derive(Clone, Copy, Debug)]
struct Later {
    decision: u32,
    option: u32,
    cost: u32,
}

/// The work item that is being run: its decisions up to and including the branch.
#[derive(Debug, Default)]
struct Item {
    group: Group,
    /// Position in the frontier after the group.
    position: Position,
    /// Branches of the group that are left. The latest goes first: what leads to an earlier one is then still on the
    /// decision stack.
    left: usize,
    /// Decisions to take from the item; 0 when there is none.
    length: usize,
}

/// The search.
#[derive(Debug)]
pub struct ContextBounded<R = Everything> {
    reduction: R,
    max_bound: Option<u32>,
    /// Work for bounds after the last one is kept.
    carries: bool,
    /// Where work for later bounds goes if there is much of it.
    spill: Option<Arc<Spill>>,
    bound: u32,
    stack: DecisionStack,
    item: Item,
    current: Frontier,
    items_begun: u64,
    /// Work for the next bounds: the one after the current first.
    later: VecDeque<Frontier>,
    branches: Vec<Later>,
    /// Of the last execution that has left work; kept for its memory.
    deviations: Vec<(u32, u32)>,
    started: bool,
    /// Something was left out because no bound that will be searched can afford it.
    cut: bool,
}

impl ContextBounded<Everything> {
    /// A search of the bounds 0 to `max_bound`; `None`: until no execution has more preemptions.
    #[must_use]
    pub fn new(max_bound: Option<u32>) -> Self {
        Self::with_reduction(max_bound, Everything)
    }
}

impl<R: Reduction> ContextBounded<R> {
    /// A search that keeps the alternatives that the reduction keeps.
    pub fn with_reduction(max_bound: Option<u32>, reduction: R) -> Self {
        ContextBounded {
            reduction,
            max_bound,
            carries: false,
            spill: None,
            bound: 0,
            stack: DecisionStack::default(),
            item: Item::default(),
            current: Frontier::default(),
            items_begun: 0,
            later: VecDeque::new(),
            branches: Vec::new(),
            deviations: Vec::new(),
            started: false,
            cut: false,
        }
    }

    /// Keeps the work for bounds after the last one too, so that another process can go on with it.
    #[must_use]
    pub fn carrying(mut self, carries: bool) -> Self {
        self.carries = carries;
        self
    }

    /// Keeps work for later bounds on disk if there is much of it.
    #[must_use]
    pub fn spilling(mut self, spill: Option<Arc<Spill>>) -> Self {
        self.spill = spill;
        self
    }

    /// What is left for the next bound and those after it (a choice may cost more than 1), to be carried to another process. Empty: nothing.
    pub fn take_frontiers(&mut self) -> Vec<Frontier> {
        std::mem::take(&mut self.later).into()
    }

    /// Begins at `bound`, with what an earlier search has left for it and for the bounds after it.
    pub fn resume(&mut self, bound: u32, frontiers: Vec<Frontier>) {
        self.restart();
        self.bound = bound;
        self.later = frontiers.into();
        self.current = self.later.pop_front().unwrap_or_default();
        self.started = true;
    }

    /// Whether work for this bound is kept.
    #[inline]
    fn keeps_bound(&self, bound: u32) -> bool {
        self.carries || self.max_bound.is_none_or(|max| bound <= max)
    }

    /// Looks for the next work item of the current bound.
    fn next_item(&mut self) -> bool {
        let mut same_group = true;
        while self.item.left == 0 {
            self.item.group.branches.clear();
            if self.current.read(&mut self.item.position, &mut self.item.group).is_none() {
                return false;
            }
            self.item.left = self.item.group.branches.len();
            same_group = false;
        }
        self.item.left -= 1;
        let (decision, option) = self.item.group.branches[self.item.left];
        self.item.length = decision as usize + 1;
        self.items_begun += 1;
        if !self.keep_shared(decision as usize, option, same_group) {
            self.stack.clear();
        }
        true
    }

    /// Keeps the decisions that the item shares with the execution before, unless they are not those that it was found after.
    fn keep_shared(&mut self, decision: usize, option: u32, same_group: bool) -> bool {
        if same_group || self.stack.divergence().is_some() {
            return self.stack.branch_off(decision, option);
        }
        let Group { deviations, digest, .. } = &self.item.group;
        let count = self.stack.shared(deviations, decision);
        let checked = deviations.last().map_or(0, |&(index, _)| index as usize + 1);
        if count >= checked && self.stack.digest(checked) != *digest {
            // It is told when the choices are taken one by one.
            return false;
        }
        if count < decision || !self.stack.branch_off(decision, option) {
            self.stack.truncate(count);
        }
        true
    }

    /// The choice that the item prescribes for a decision: `None` for the default.
    fn prescribed(&mut self, decision: usize) -> Option<u32> {
        if decision + 1 == self.item.length {
            return Some(self.item.group.branches[self.item.left].1);
        }
        let deviations = &self.item.group.deviations;
        deviations.iter().find(|(index, _)| *index as usize == decision).map(|&(_, option)| option)
    }

    /// Whether the item's prefix has led where it led before.
    fn prefix_matches(&self, decision: usize) -> bool {
        let last = self.item.group.deviations.last().map(|&(index, _)| index as usize);
        last != Some(decision) || self.stack.digest(decision + 1) == self.item.group.digest
    }

    /// A choice that was taken before, or that the work item prescribes.
    #[cold]
    fn choose_again(&mut self, point: &SchedulingPoint<'_>, place: u64) -> Option<ThreadId> {
        if let Some(known) = self.stack.recall(place, || divergence_message(point.step)) {
            return known.ok().map(|chosen| ThreadId::new(chosen as usize));
        }
        let decision = self.stack.cursor();
        let prescribed = self.prescribed(decision);
        let chosen = prescribed.unwrap_or(point.default_choice().index() as u32);
        let possible = point.enabled.contains(chosen as usize) || point.early.contains(chosen as usize);
        self.stack.decide(chosen, prescribed.is_some(), place);
        if !possible || !self.prefix_matches(decision) {
            self.stack.diverge(divergence_message(point.step));
            return None;
        }
        Some(ThreadId::new(chosen as usize))
    }

    #[inline]
    fn keep_branch(&mut self, option: u32, cost: u32) {
        let decision = (self.stack.cursor() - 1) as u32;
        if cost == 0 {
            self.stack.add_alternative(option);
        } else if self.keeps_bound(self.bound + cost) {
            self.branches.push(Later { decision, option, cost });
        } else {
            self.cut = true;
        }
    }
}

impl<R: Reduction> Chooser for ContextBounded<R> {
    #[inline]
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let place = thread_place(point);
        if self.stack.is_behind() || self.stack.cursor() < self.item.length {
            return self.choose_again(point, place);
        }
        let default = point.default_choice();
        self.stack.decide(default.index() as u32, false, place);
        // What is enabled is not early; and if leaving the thread that ran costs, that is the default.
        let cost = u32::from(point.leaving_costs());
        if self.cut && cost > 0 && !self.keeps_bound(self.bound + 1) {
            // Every alternative is beyond the last bound, and it is known that something is.
            return Some(default);
        }
        for thread in point.enabled {
            if thread != default.index() && self.reduction.keeps(point, default, ThreadId::new(thread)) {
                self.keep_branch(thread as u32, cost);
            }
        }
        if !point.early.is_empty() {
            for thread in point.worth_letting_on() {
                let thread = ThreadId::new(thread);
                self.keep_branch(thread.index() as u32, point.cost(thread));
            }
        }
        Some(default)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let place = branch_place(point);
        if let Some(known) = self.stack.recall(place, || divergence_message(0)) {
            return known.unwrap_or(0);
        }
        let decision = self.stack.cursor();
        if decision < self.item.length {
            let prescribed = self.prescribed(decision);
            self.stack.decide(prescribed.unwrap_or(0), prescribed.is_some(), place);
            if !self.prefix_matches(decision) {
                self.stack.diverge(divergence_message(0));
            }
            return prescribed.unwrap_or(0);
        }
        self.stack.decide(0, false, place);
        for index in 1..point.count {
            self.keep_branch(index, point.cost(index));
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

impl<R: Reduction> Strategy for ContextBounded<R> {
    fn begin(&mut self) -> bool {
        let found = if !self.started {
            self.started = true;
            true
        } else {
            self.stack.backtrack(self.item.length) || self.next_item()
        };
        self.stack.rewind();
        self.branches.clear();
        found
    }

    fn end(&mut self, _: &Outcome) {
        if self.branches.is_empty() {
            return;
        }
        let mut deviations = std::mem::take(&mut self.deviations);
        deviations.clear();
        deviations.extend(self.stack.deviations());
        let digest = deviations.last().map_or(0, |&(last, _)| self.stack.digest(last as usize + 1));
        let dearest = self.branches.iter().map(|b| b.cost).max().unwrap_or(0);
        for cost in 1..=dearest {
            let branches = self.branches.iter().filter(|b| b.cost == cost).map(|b| (b.decision, b.option));
            if branches.clone().next().is_none() {
                continue;
            }
            while self.later.len() < cost as usize {
                self.later.push_back(Frontier::spilling(self.spill.as_ref()));
            }
            self.later[cost as usize - 1].push(deviations.iter().copied(), digest, branches);
        }
        self.deviations = deviations;
    }

    fn bound(&self) -> u32 {
        self.bound
    }

    fn advance(&mut self) -> bool {
        if self.max_bound.is_some_and(|max| self.bound >= max) || self.later.iter().all(Frontier::is_empty) {
            return false;
        }
        self.current = self.later.pop_front().unwrap_or_default();
        self.bound += 1;
        self.item = Item::default();
        self.items_begun = 0;
        self.stack.clear();
        true
    }

    fn max_bound(&self) -> Option<u32> {
        self.max_bound
    }

    fn next_items(&self) -> u64 {
        self.later.front().map_or(0, Frontier::len)
    }

    fn is_exhausted(&self) -> bool {
        !self.cut && self.later.iter().all(Frontier::is_empty)
    }

    fn progress(&self) -> (u64, Option<f64>) {
        let left = self.current.len() - self.items_begun.min(self.current.len());
        let done =
            (!self.current.is_empty()).then(|| (self.items_begun as f64 - 0.5) / self.current.len() as f64);
        (left + self.stack.alternative_count() as u64, done)
    }

    fn restart(&mut self) {
        self.bound = 0;
        self.stack.clear();
        self.item = Item::default();
        self.current = Frontier::default();
        self.items_begun = 0;
        self.later.clear();
        self.started = false;
        self.cut = false;
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
