//! Doing work items, and cutting one up that has become long. It knows what is left of an item, not who does it.

use super::PartialOrder;
use super::events::Event;
use super::item::{Extra, Item, Leg, Part, Remains};
use super::node::Sleeper;
use std::sync::Arc;

impl PartialOrder {
    /// Begins an item of the current bound: the next executions are its own.
    pub fn enter(&mut self, item: Item) {
        self.item = item;
        self.depth = 0;
        self.started = false;
        self.kept = 0;
        self.unnoted = 0;
        self.without_events = false;
        self.events.truncate(0);
        self.deferred.clear();
    }

    /// The item that is being done.
    #[must_use]
    pub fn item(&self) -> &Item {
        &self.item
    }

    /// Takes over the bound at which somebody else searches.
    pub fn join(&mut self, bound: u32) {
        if self.bound != bound {
            self.set_bound(bound);
        }
    }

    /// Whether the bound has left something out since this was last asked.
    pub fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.bound_pruned) > 0
    }

    /// The bound has left something out where somebody else has searched.
    pub fn note_cut(&mut self) {
        self.bound_pruned += 1;
    }

    /// The node that has just been made lies on the way to the item: what sleeps there, and who is chosen.
    pub(super) fn follow(&mut self, index: usize) -> Option<usize> {
        let leg = self.item.way.get(index)?.clone();
        let node = &mut self.nodes[index];
        for sleeper in &leg.sleepers[..leg.asleep] {
            node.done.insert(sleeper.thread);
            node.sleep.push(sleeper.clone());
        }
        // They have items, so that nothing comes of it if they turn out to be needed.
        leg.known.iter().for_each(|thread| node.todo.insert(thread));
        Some(leg.thread)
    }

    /// The outcome that the way prescribes inside the step of a node.
    pub(super) fn prescribed_outcome(&self, index: usize, position: usize) -> u32 {
        let leg = self.item.way.get(index);
        leg.and_then(|leg| leg.outcomes.get(position)).copied().unwrap_or(0)
    }

    /// Outcomes inside the step of a node that are not the item's to change.
    pub(super) fn fixed_outcomes(&self, index: usize) -> usize {
        self.item.way.get(index).map_or(0, |leg| leg.outcomes.len())
    }

    /// What the item has found for others to do, now that all its executions have been run.
    pub fn remains(&mut self) -> Remains {
        Remains { extras: self.extras(), sleeper: self.sleeper_for_later(), ..Remains::default() }
    }

    /// How the choice of the item's last leg sleeps for those that come after it, as far as that is known.
    fn sleeper_for_later(&mut self) -> Option<Sleeper> {
        let last = self.item.depth().checked_sub(1)?;
        if self.item.later.is_empty() || last >= self.depth || !self.knows_footprints(last) {
            return None;
        }
        self.sleeper(last)
    }

    /// Whether it is known what the node's step touches, and the free one that leads to it, and the block that it is in: with several
    /// outcomes that is not known before all of them have been tried.
    fn knows_footprints(&self, index: usize) -> bool {
        let mut together = (index..self.depth).take_while(|&later| {
            let belongs = |event: &Event| event.first == index || event.block == index;
            later == index || (later < self.events.len() && belongs(self.events.get(later)))
        });
        together.all(|later| self.nodes[later].branches.is_empty())
    }

    /// Leaves what is left of the item to others, between two executions.
    pub fn cut_up(&mut self) -> Remains {
        self.note_footprints(usize::MAX);
        let extras = self.extras();
        let floor = self.item.depth();
        let sleeper = self.sleeper_for_later();
        let mut remains = Remains { base: floor, extras, sleeper, ..Remains::default() };
        if let Some(last) = floor.checked_sub(1).filter(|&last| last < self.depth) {
            let leg = self.item.way[last].clone();
            self.part_outcomes(last, &leg, leg.outcomes.len(), &mut remains);
            // Deeper parts have all outcomes of the step.
            let outcomes = self.nodes[last].branches.iter().map(|branch| branch.chosen);
            remains.base = last;
            remains.legs.push(Arc::new(leg.with_outcomes(outcomes.collect())));
        }
        for index in floor..self.depth {
            let leg = self.share(index);
            self.part_outcomes(index, &leg, 0, &mut remains);
            let todo = self.nodes[index].todo.clone();
            let mut left = Vec::new();
            for thread in todo.iter().filter(|&thread| thread != leg.thread) {
                if self.is_left(index, thread) {
                    left.push((thread, self.cost_of(index, thread)));
                }
            }
            if let Some((&(thread, cost), later)) = left.split_first() {
                let leg = Arc::new(leg.other(thread, cost));
                remains.parts.push(Part { depth: index, leg, later: later.to_vec() });
            }
            remains.legs.push(Arc::new(leg));
        }
        // What comes after the last part leads nowhere, and depends on how far the execution has been analysed.
        let deepest = remains.parts.iter().map(|part| part.depth).max().unwrap_or(0);
        remains.legs.truncate(deepest.saturating_sub(remains.base));
        self.depth = 0;
        remains
    }

    /// The node becomes one of those that nobody owns.
    fn share(&mut self, index: usize) -> Leg {
        let node = &self.nodes[index];
        let mut sleepers = node.sleep[node.inherited_count..].to_vec();
        let asleep = sleepers.len();
        let mut known = node.todo.clone();
        node.done.iter().for_each(|thread| known.insert(thread));
        // Where nobody else will be tried, nobody has to know; and not everything that the step touches may have been noted.
        let is_of_use = !node.spent && (!node.enabled.is_within(&known) || node.has_left());
        if is_of_use && self.knows_footprints(index) {
            sleepers.extend(self.sleeper(index));
        }
        let outcomes = node.branches.iter().map(|branch| branch.chosen).collect();
        let cost = self.cost_of(index, node.chosen);
        let shared = sleepers.len();
        Leg { thread: node.chosen, outcomes, sleepers, asleep, shared, known, cost }
    }

    /// What the execution has cost when the thread is chosen at the node.
    fn cost_of(&self, index: usize, thread: usize) -> u32 {
        let node = &self.nodes[index];
        node.cost + node.switch_cost(thread)
    }

    /// Parts for the outcomes of the node's step that have not been tried, but for the first `fixed`.
    fn part_outcomes(&mut self, index: usize, leg: &Leg, fixed: usize, remains: &mut Remains) {
        let node = &self.nodes[index];
        let mut cost = node.cost + node.switch_cost(node.chosen);
        let branches = node.branches.clone();
        for (position, branch) in branches.iter().enumerate() {
            if position >= fixed {
                for outcome in branch.chosen + 1..branch.count {
                    if self.affordable(cost + u32::from(branch.costly)) {
                        let before = branches[..position].iter().map(|branch| branch.chosen);
                        let outcomes = before.chain([outcome]).collect();
                        let leg = Arc::new(leg.with_outcomes(outcomes));
                        remains.parts.push(Part { depth: index, leg, later: Vec::new() });
                    } else {
                        self.bound_pruned += 1;
                    }
                }
            }
            cost += u32::from(branch.costly && branch.chosen != 0);
        }
    }

    /// Whether the alternative is still to be explored.
    fn is_left(&mut self, index: usize, thread: usize) -> bool {
        let node = &self.nodes[index];
        if node.done.contains(thread) || !(node.enabled.contains(thread) || node.early.contains(thread)) {
            return false;
        }
        if !self.affordable(node.cost + node.switch_cost(thread)) {
            self.bound_pruned += 1;
            return false;
        }
        !self.nodes[index].is_asleep(thread, self.is_bounded())
    }

    /// Choices that are needed at nodes on the way, and were not known to be when the nodes were shared.
    fn extras(&mut self) -> Vec<Extra> {
        let mut extras = Vec::new();
        for depth in 0..self.item.depth().min(self.depth) {
            let leg = self.item.way[depth].clone();
            let todo = self.nodes[depth].todo.clone();
            for thread in todo.iter().filter(|&t| t != leg.thread && !leg.known.contains(t)) {
                if self.is_left(depth, thread) {
                    extras.push(Extra { depth, thread, cost: self.cost_of(depth, thread) });
                }
            }
        }
        extras
    }
}
