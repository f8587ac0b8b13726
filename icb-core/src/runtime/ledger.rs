//! What the allocator writes down when somebody asks: which blocks an execution has allocated and not freed, and in a
//! replay what became of each. Knows blocks by address; what a leak is, `leaks` decides.
//!
//! It works inside the allocator, on the stack of whoever allocates, and allocates itself: that it does aside, where the
//! allocator tells it nothing. Backtraces are taken unresolved, which is quick and needs little stack.

use super::address_map::ByAddress;
use super::allocator::aside;
use super::arena;
use super::backtrace::{Resolver, addresses};
use super::histories::Histories;
use super::image;
use crate::trace::{Frame, MemoryEvent};
use std::collections::HashMap;

/// A block that has been allocated and not been freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unfreed {
    pub(super) start: usize,
    pub(super) size: usize,
    run: u32,
    /// Its number among the allocations of its run.
    pub(super) ordinal: u64,
}

/// What is written down.
#[derive(Default)]
pub(super) struct Ledger {
    /// Allocations are written down.
    allocations: bool,
    /// What becomes of each block is written down.
    pub(super) keeps_histories: bool,
    run: u32,
    next_ordinal: u64,
    unfreed: ByAddress<Unfreed>,
    /// Starts of those that statics lead to, in order.
    reachable: Vec<usize>,
    /// Allocations, by number, whose backtraces are wanted.
    wanted: Vec<u64>,
    traces: HashMap<u64, Vec<usize>>,
    histories: Histories,
    /// Where each object is, by its number, while histories are kept.
    objects: Vec<usize>,
    /// The thread that runs.
    pub(super) thread: usize,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("unfreed", &self.unfreed.len()).finish_non_exhaustive()
    }
}

impl Ledger {
    /// An execution begins: what is to be written down during it.
    pub(super) fn begin(&mut self, allocations: bool, histories: bool) {
        if self.keeps_histories {
            self.histories.clear();
            self.objects.clear();
        }
        (self.allocations, self.keeps_histories) = (allocations, histories);
        self.run += 1;
        self.next_ordinal = 0;
        self.reachable.clear();
    }

    /// Whether the allocator has anything to tell.
    pub(super) fn is_open(&self) -> bool {
        self.allocations || self.keeps_histories
    }

    /// Forgets the blocks of earlier executions.
    pub(super) fn forget(&mut self) {
        self.unfreed.clear();
        self.wanted.clear();
        self.traces.clear();
    }

    /// The blocks of the latest execution that it has not freed and nothing static leads to, oldest first.
    pub(super) fn unfreed(&self) -> Vec<Unfreed> {
        let is_lost =
            |block: &&Unfreed| block.run == self.run && self.reachable.binary_search(&block.start).is_err();
        let mut all: Vec<_> = self.unfreed.values().filter(is_lost).copied().collect();
        all.sort_by_key(|block| block.ordinal);
        all
    }

    /// The execution is over, and its statics are as it has left them: finds out which blocks they lead to. Any word that is an address
    /// in a block counts as a pointer to it, but for those of the arena (also where no
    /// symbols tell whose a static is) and of the tool.
    pub(super) fn look_from_statics(&mut self) {
        if !self.allocations || !self.unfreed.values().any(|block| block.run == self.run) {
            return;
        }
        let mut blocks: Vec<_> =
            self.unfreed.values().map(|block| (block.start, block.size, false)).collect();
        blocks.sort_unstable();
        let own = arena::own_static();
        let mut stretches = image::statics();
        while let Some((start, size)) = stretches.pop() {
            let first = start.next_multiple_of(size_of::<usize>());
            let last = (start + size).saturating_sub(size_of::<usize>());
            for place in (first..=last).step_by(size_of::<usize>()) {
                // SAFETY: the word lies in memory of the program, or in a block that it has not freed, and is aligned; nobody else runs.
                let word = unsafe { (place as *const usize).read_volatile() };
                let next = blocks.partition_point(|&(start, ..)| start <= word);
                if let Some((start, size, seen)) = next.checked_sub(1).map(|last| &mut blocks[last])
                    && word < *start + *size
                    && !*seen
                    && !own.contains(&place)
                    && !is_tools(place)
                {
                    *seen = true;
                    stretches.push((*start, *size));
                }
            }
        }
        let seen = blocks.iter().filter(|(.., seen)| *seen);
        self.reachable = seen.map(|&(start, ..)| start).collect();
    }

    /// Whether a block of an earlier execution has still not been freed.
    pub(super) fn is_unfreed(&self, block: &Unfreed) -> bool {
        self.unfreed.get(&block.start) == Some(block)
    }

    /// The backtraces of these allocations of the next execution are wanted.
    pub(super) fn want(&mut self, mut ordinals: Vec<u64>) {
        ordinals.sort_unstable();
        self.wanted = ordinals;
    }

    /// Where an allocation was made.
    pub(super) fn trace(&mut self, ordinal: u64) -> Vec<Frame> {
        self.traces.remove(&ordinal).map(|trace| Resolver::default().frames(&trace)).unwrap_or_default()
    }

    /// What became of the block around this address: nothing is known unless histories are kept.
    pub(super) fn history(&mut self, address: usize) -> Vec<MemoryEvent> {
        aside(|| self.histories.of(address))
    }

    /// An object is known by this number from now on.
    pub(super) fn note_object(&mut self, number: usize, address: usize) {
        if self.keeps_histories {
            aside(|| {
                self.objects.resize(number, 0);
                self.objects.push(address);
            });
        }
    }

    /// The running thread uses an object.
    pub(super) fn note_use_of(&mut self, number: usize) {
        if let Some(&address) = self.objects.get(number) {
            self.note_use(address);
        }
    }

    /// The running thread uses memory.
    pub(super) fn note_use(&mut self, address: usize) {
        if self.keeps_histories && self.histories.holds(address) {
            aside(|| self.histories.used(address, self.thread, addresses()));
        }
    }

    /// # Safety
    /// `ledger` is valid and not borrowed: whoever borrows it allocates aside.
    #[cold]
    pub(super) unsafe fn note_allocation(ledger: *mut Ledger, start: usize, size: usize) {
        // SAFETY: the caller's promise; what is allocated in here does not lead back.
        let ledger = unsafe { &mut *ledger };
        aside(|| {
            if ledger.keeps_histories {
                ledger.histories.allocated(start, size, ledger.thread, addresses());
            }
            if ledger.allocations {
                let (run, ordinal) = (ledger.run, ledger.next_ordinal);
                ledger.next_ordinal += 1;
                ledger.unfreed.insert(start, Unfreed { start, size, run, ordinal });
                if ledger.wanted.binary_search(&ordinal).is_ok() {
                    ledger.traces.insert(ordinal, addresses());
                }
            }
        });
    }

    /// # Safety
    /// As [`note_allocation`](Self::note_allocation); the block is still mapped.
    #[cold]
    pub(super) unsafe fn note_free(ledger: *mut Ledger, start: usize, size: usize) {
        // SAFETY: as above.
        let ledger = unsafe { &mut *ledger };
        aside(|| {
            ledger.unfreed.remove(&start);
            if ledger.keeps_histories {
                ledger.histories.freed(start, size, ledger.thread, addresses());
            }
        });
    }
}
/// Whether a static of the engine or of what reads backtraces for it is there: what they keep of blocks that were freed long ago, in places that are not
/// used just now, leads nowhere.
#[cold]
fn is_tools(place: usize) -> bool {
    let name = image::symbol(place as *const ()).map(|(name, _)| name);
    name.is_some_and(|name| {
        ["backtrace::", "icb_core::"].iter().any(|crate_name| name.starts_with(crate_name))
    })
}
