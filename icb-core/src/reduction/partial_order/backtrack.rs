//! Going back: what is tried next at a node, and who sleeps meanwhile.

use super::node::Sleeper;
use super::{Flaw, PartialOrder, SleepRule};

impl PartialOrder {
    /// The alternative of a node that has just been explored goes to sleep for the ones after it, where that is sound.
    fn finish(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        node.done.insert(node.chosen);
        if node.todo.is_within(&node.done) {
            return;
        }
        if let Some(sleeper) = self.sleeper(index) {
            self.nodes[index].sleep.push(sleeper);
        }
    }

    /// The node's choice, asleep for the ones after it, where that is sound.
    pub(super) fn sleeper(&self, index: usize) -> Option<Sleeper> {
        let node = &self.nodes[index];
        let thread = node.chosen;
        let early = node.is_early(thread);
        if node.freed || (node.let_on && early) {
            return None;
        }
        let continued = node.previous == Some(thread) && !node.previous_yielded && !early;
        let naive = self.flaw == Flaw::NaiveSleep;
        let stops = node.stops && (!node.has_gone_on || self.flaw == Flaw::FirstOutcomeTrusted);
        let footprint = if !self.is_bounded() || continued || stops || naive {
            &node.step
        } else if self.rule == SleepRule::Block {
            &node.block
        } else {
            return None;
        };
        let known = if self.flaw == Flaw::NumbersTrusted { usize::MAX } else { node.object_count };
        Some(Sleeper::new(thread, footprint, known, early))
    }

    /// Takes the next outcome of the node's step, if there is one left that can be afforded.
    fn next_outcome(&mut self, index: usize) -> bool {
        let node = &self.nodes[index];
        if node.branches.is_empty() {
            return false;
        }
        let base = node.cost + node.switch_cost(node.chosen);
        let fixed = self.fixed_outcomes(index);
        while self.nodes[index].branches.len() > fixed
            && let Some(branch) = self.nodes[index].branches.last().copied()
        {
            if branch.chosen + 1 < branch.count {
                let node = &mut self.nodes[index];
                if let Some(last) = node.branches.last_mut() {
                    last.chosen += 1;
                }
                if self.affordable(base + self.nodes[index].branch_cost()) {
                    return true;
                }
                self.bound_pruned += 1;
            }
            self.nodes[index].branches.pop();
        }
        false
    }

    /// Prepares the next execution: the deepest node with something left to do. `false`: there is none.
    pub(super) fn backtrack(&mut self) -> bool {
        let floor = self.item.depth();
        while let Some(index) = self.depth.checked_sub(1) {
            if index + 1 < floor {
                return false;
            }
            if index >= floor && self.nodes[index].is_plain() {
                self.depth = index;
                continue;
            }
            if self.unnoted > 0 || self.coast.has_steps() {
                self.note_footprints(index);
            }
            if self.next_outcome(index) {
                return true;
            }
            if index < floor {
                return false;
            }
            self.finish(index);
            while let Some(thread) = self.next_alternative(index) {
                if self.can_run(index, thread) {
                    self.nodes[index].choose(thread);
                    return true;
                }
                let node = &self.nodes[index];
                let cost = node.cost + node.switch_cost(thread);
                if !self.affordable(cost) {
                    if self.bound_pruned == 0 {
                        self.coast.note_addition(0);
                    }
                    self.bound_pruned += 1;
                }
                self.nodes[index].done.insert(thread);
            }
            self.depth = index;
        }
        false
    }

    fn next_alternative(&self, index: usize) -> Option<usize> {
        let node = &self.nodes[index];
        if node.todo.is_within(&node.done) {
            return None;
        }
        node.todo
            .iter()
            .find(|&t| !node.done.contains(t) && (node.enabled.contains(t) || node.early.contains(t)))
    }
}
