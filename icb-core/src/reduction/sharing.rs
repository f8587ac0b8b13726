//! Which part of a search is whose, when several machines search without talking to each other.
//!
//! Every shard makes the same plan: the items that seem largest are done, and cut up, until there are many more pieces than
//! shards; these are dealt out by their estimated size. A piece is an item with all that comes of it. What a piece needs
//! at a node that lies on its way, and that is not in the plan, is a piece too, an extra: whoever finds it does it, and where
//! several have, it is counted once. So the pieces of all shards together are the whole search, and count what
//! one machine alone would count.

use super::doing::Done;
use super::partial_order::Item;
use crate::trace::{Ownership, Piece, Shard, ShardPart};
use std::collections::HashMap;

/// The plan ends when there are so many pieces for each shard, and so many in all.
const PIECES_OF_A_SHARD: usize = 130;
const LEAST_PIECES: usize = 768;

/// A shard's view of the work.
#[derive(Debug)]
pub(super) struct Sharing {
    shard: Shard,
    planning: bool,
    /// Items that the plan has found.
    pool: Vec<Item>,
    /// The longest way that has been seen.
    longest: usize,
    share_count: u32,
    pieces: Vec<Piece>,
    /// Legs of each piece's way.
    depths: Vec<usize>,
    /// Which piece an item belongs to.
    of: HashMap<u64, usize>,
    left_out: bool,
}

impl Sharing {
    pub(super) fn new(shard: Shard) -> Self {
        Sharing {
            shard,
            planning: true,
            pool: Vec::new(),
            longest: 0,
            share_count: 0,
            pieces: Vec::new(),
            depths: Vec::new(),
            of: HashMap::new(),
            left_out: false,
        }
    }

    /// A new bound.
    pub(super) fn begin(&mut self) {
        *self = Sharing::new(self.shard);
    }

    /// A new piece begins with this item.
    pub(super) fn open(&mut self, number: u64, item: &Item, of: Ownership) {
        self.of.insert(number, self.pieces.len());
        self.depths.push(item.depth());
        self.pieces.push(Piece {
            key: format!("{:032x}", item.key()),
            of,
            executions: 0,
            given_up: 0,
            steps: 0,
            max_steps: 0,
            max_threads: 0,
            cut: false,
        });
    }

    /// Counts an item. The piece that it belongs to.
    pub(super) fn count(&mut self, number: u64, item: &Item, done: &Done) -> usize {
        let index = self.of.remove(&number).unwrap_or_default();
        let (piece, figures) = (&mut self.pieces[index], &done.figures);
        let given_up = figures.trail.iter().filter(|&&state| state == 0).count() as u64;
        piece.executions += figures.trail.len() as u64 - given_up;
        piece.given_up += given_up;
        piece.steps += figures.step_count;
        piece.max_steps = piece.max_steps.max(figures.max_steps);
        piece.max_threads = piece.max_threads.max(figures.max_threads);
        piece.cut |= done.cut;
        self.longest = self.longest.max(item.depth_with(&done.remains));
        index
    }

    /// Whether the plan is still being made.
    pub(super) fn is_planning(&self) -> bool {
        self.planning
    }

    /// Whether an item that a piece has found to be needed belongs to that piece alone.
    pub(super) fn is_within(&self, piece: usize, item: &Item) -> bool {
        item.depth() > self.depths[piece]
    }

    /// The item belongs to the piece.
    pub(super) fn assign(&mut self, number: u64, piece: usize) {
        self.of.insert(number, piece);
    }

    /// The plan has found an item.
    pub(super) fn add_to_pool(&mut self, item: Item) {
        self.pool.push(item);
    }

    /// The item that the plan looks into next: the one that seems largest. `None`: the plan is made.
    pub(super) fn next_of_plan(&mut self, bound: Option<u32>) -> Option<Item> {
        let enough = LEAST_PIECES.max(PIECES_OF_A_SHARD * self.shard.whole.1 as usize);
        let largest = (0..self.pool.len()).max_by_key(|&index| {
            let item = &self.pool[index];
            // Once it is begun, what comes after it is a piece of its own.
            let urgency = 1 + 3 * item.later_count() as u128;
            (self.size(item, bound).saturating_mul(urgency), std::cmp::Reverse(index))
        });
        match largest.filter(|_| self.pool.len() < enough && self.shard.whole.1 > 1) {
            Some(index) => Some(self.pool.remove(index)),
            None => {
                self.planning = false;
                None
            }
        }
    }

    /// An estimate: how many ways there are to spend what is left of the bound in the steps that are left.
    fn size(&self, item: &Item, bound: Option<u32>) -> u128 {
        let left = bound.map_or(4, |bound| bound.saturating_sub(item.cost())).min(8);
        let steps = (self.longest.saturating_sub(item.depth()) + 1) as u128;
        // What comes after it at its last node belongs to it.
        steps.saturating_pow(left + 1).saturating_mul(1 + item.later_count() as u128)
    }

    /// The pieces that are this shard's, with their numbers. Sizes are dealt out evenly: the next largest piece goes to who has
    /// least.
    pub(super) fn deal(&mut self, bound: Option<u32>) -> Vec<(u32, Item)> {
        let pool = std::mem::take(&mut self.pool);
        self.share_count = pool.len() as u32;
        let sized = pool.into_iter().map(|item| (self.size(&item, bound), item));
        let all = (0..).zip(sized).map(|(number, (size, item))| (number, size, item)).collect();
        let mine = share(all, self.shard.whole);
        let mine = share(mine, self.shard.part);
        self.left_out = (mine.len() as u32) < self.share_count;
        mine.into_iter().map(|(number, _, item)| (number, item)).collect()
    }

    /// Whether other shards do something too.
    pub(super) fn leaves_something_out(&self) -> bool {
        self.left_out
    }

    /// What has been done of the bound.
    pub(super) fn result(&self) -> ShardPart {
        ShardPart { share_count: self.share_count, pieces: self.pieces.clone() }
    }
}

/// Those of the pieces that the one with this number, of so many, gets.
fn share(mut pieces: Vec<(u32, u128, Item)>, (number, count): (u32, u32)) -> Vec<(u32, u128, Item)> {
    pieces.sort_by_key(|&(number, size, _)| (std::cmp::Reverse(size), number));
    let mut loads = vec![0u128; count as usize];
    let mut mine = Vec::new();
    for piece in pieces {
        let least = (0..loads.len()).min_by_key(|&index| loads[index]).unwrap_or(0);
        loads[least] = loads[least].saturating_add(piece.1);
        if least + 1 == number as usize {
            mine.push(piece);
        }
    }
    mine
}
