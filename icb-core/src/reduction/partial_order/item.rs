//! Work items: parts of a search that can be done anywhere and in any order, and what doing one leads to.
//!
//! A search that has become long is cut up. Every node of the current execution becomes *shared*: what it has been
//! shown to need so far is left to items of its own, each a way to the node and the choice to take there. From then on
//! nobody owns the node: an item that finds one more choice to be needed there names it as an *extra*, which is an item
//! like any other, done once.
//!
//! What an item does depends on its way alone. A shared node keeps, from when it was made, the sleepers that all later
//! choices find there: those explored before it was shared, and the one whose execution made it. The choices that are known to be needed
//! there come one after the other: the next one begins to exist when the item of the one before is over or has been cut up, because then it is
//! known what sleeps for it. (Otherwise a search that is cut up often runs several times as many executions.) Extras put nobody to sleep, as
//! that would depend on who finds them when. So items can be done in any order, by anybody,
//! and the items there are, and what they count, are always the same.

use super::node::Sleeper;
use crate::program::ThreadSet;
use std::sync::Arc;

/// One node on the way to an item, and the choice taken there.
#[derive(Clone, Debug, Default)]
pub(super) struct Leg {
    pub(super) thread: usize,
    /// Outcomes chosen inside the step: all of them, but in the last leg, where the others are the item's to choose.
    pub(super) outcomes: Vec<u32>,
    /// Choices explored elsewhere, which sleep for later ones.
    pub(super) sleepers: Vec<Sleeper>,
    /// So many of them sleep for the choice taken.
    pub(super) asleep: usize,
    /// So many of them sleep for extras: those from when the node was shared.
    pub(super) shared: usize,
    /// What the execution has cost when the choice is taken.
    pub(super) cost: u32,
    /// Choices that were known to be needed when the node was shared: they have items.
    pub(super) known: ThreadSet,
}

impl Leg {
    /// Another choice at the same node, for which everything sleeps that was known when the node was shared.
    pub(super) fn other(&self, thread: usize, cost: u32) -> Leg {
        let sleepers = self.sleepers[..self.shared].to_vec();
        Leg { thread, cost, outcomes: Vec::new(), asleep: self.shared, sleepers, ..self.clone() }
    }

    /// The choice that comes after this one, of which it is known now how it sleeps.
    fn next(&self, (thread, cost): (usize, u32), sleeper: Option<&Sleeper>) -> Leg {
        let mut sleepers = self.sleepers.clone();
        sleepers.extend(sleeper.cloned());
        Leg { thread, cost, outcomes: Vec::new(), asleep: sleepers.len(), sleepers, ..self.clone() }
    }

    /// The same choice with these outcomes.
    pub(super) fn with_outcomes(&self, outcomes: Vec<u32>) -> Leg {
        Leg { outcomes, ..self.clone() }
    }
}

/// A part of the search: everything that begins in this way.
#[derive(Clone, Debug, Default)]
pub struct Item {
    pub(super) way: Vec<Arc<Leg>>,
    /// Choices at its last node that come after it, and what the execution has cost when they are taken.
    pub(super) later: Vec<(usize, u32)>,
    /// What somebody else has done of it; see [`PartialOrder::save`](super::PartialOrder::save).
    pub(super) begun: Option<Arc<[u8]>>,
}

/// A choice that an item has found to be needed at a node on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extra {
    /// Legs before the node.
    pub(super) depth: usize,
    pub(super) thread: usize,
    pub(super) cost: u32,
}

/// What is left when an item is over, in a fixed order. It refers to the item's way.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// So many legs of the item are followed by `legs` on the way to its parts.
    pub(super) base: usize,
    pub(super) legs: Vec<Arc<Leg>>,
    /// Parts that the item has been cut up into.
    pub(super) parts: Vec<Part>,
    /// How the choice of the item's last leg sleeps for those that come after it.
    pub(super) sleeper: Option<Sleeper>,
    /// What it needs elsewhere; others may have found that too.
    pub(super) extras: Vec<Extra>,
}

/// A part that an item has been cut up into.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Legs before the node.
    pub(super) depth: usize,
    /// The choice there.
    pub(super) leg: Arc<Leg>,
    /// Those that come after it.
    pub(super) later: Vec<(usize, u32)>,
}

impl Item {
    /// The whole search.
    #[must_use]
    pub fn root() -> Self {
        Item::default()
    }

    /// Nodes on the way.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.way.len()
    }

    /// How many choices come after it at its last node.
    #[must_use]
    pub fn later_count(&self) -> usize {
        self.later.len()
    }

    /// What the way costs.
    #[must_use]
    pub fn cost(&self) -> u32 {
        self.way.last().map_or(0, |leg| leg.cost)
    }

    /// Nodes on the longest way to one of its parts.
    #[must_use]
    pub fn depth_with(&self, remains: &Remains) -> usize {
        self.depth().max(remains.base + remains.legs.len())
    }

    /// The item, of which so much has been done.
    #[must_use]
    pub fn begun(self, begun: Arc<[u8]>) -> Item {
        Item { begun: Some(begun), ..self }
    }

    /// What has been done of it, in bytes.
    #[must_use]
    pub fn begun_byte_count(&self) -> usize {
        self.begun.as_ref().map_or(0, |begun| begun.len())
    }

    /// Takes out what has been done of it.
    pub(crate) fn take_begun(&mut self) -> Option<Arc<[u8]>> {
        self.begun.take()
    }

    /// Identifies the item among those of its bound.
    #[must_use]
    pub fn key(&self) -> u128 {
        key(&self.way)
    }

    /// The parts that the item has been cut up into.
    pub fn parts(&self, remains: &Remains) -> Vec<Item> {
        let mut way = self.way[..remains.base.min(self.way.len())].to_vec();
        way.extend(remains.legs.iter().cloned());
        let part = |part: &Part| Item {
            later: part.later.clone(),
            ..extended(&way[..part.depth.min(way.len())], part.leg.clone())
        };
        remains.parts.iter().map(part).collect()
    }

    /// What comes after the item at its last node: now it can.
    #[must_use]
    pub fn next(&self, remains: &Remains) -> Option<Item> {
        let (&next, later) = self.later.split_first()?;
        let (last, before) = self.way.split_last()?;
        let leg = last.next(next, remains.sleeper.as_ref());
        Some(Item { later: later.to_vec(), ..extended(before, Arc::new(leg)) })
    }

    /// What the item has found to be needed elsewhere.
    pub fn extras(&self, remains: &Remains) -> Vec<Item> {
        let known = remains.extras.iter().filter_map(|extra| Some((extra, self.way.get(extra.depth)?)));
        known
            .map(|(extra, leg)| {
                extended(&self.way[..extra.depth], Arc::new(leg.other(extra.thread, extra.cost)))
            })
            .collect()
    }
}

fn extended(way: &[Arc<Leg>], last: Arc<Leg>) -> Item {
    let mut longer = Vec::with_capacity(way.len() + 1);
    longer.extend_from_slice(way);
    longer.push(last);
    Item { way: longer, ..Item::default() }
}

/// A digest of threads and outcomes, in which different ways are different.
fn key(way: &[Arc<Leg>]) -> u128 {
    let mut digest = 0u128;
    let mut add = |word: u64| {
        digest = (digest ^ u128::from(word)).wrapping_add(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        digest = digest.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645);
        digest ^= digest >> 71;
    };
    for leg in way {
        add(leg.thread as u64);
        leg.outcomes.iter().for_each(|&outcome| add(u64::from(outcome) | 1 << 40));
    }
    digest
}
