//! Addresses that are used again within the execution that has freed what lay there, if that is asked for
//! ([`Settings::reuse_addresses`](super::execution::Settings)). So a pointer that somebody has kept may be that of another block, and an
//! exchange takes one for the other: the ABA problem, and whatever else goes by addresses.
//!
//! A block lies where that one lay which its thread has freed last of those of its size, as with allocators that keep for a thread what it
//! frees. What other threads free is left to them. So where a block lies depends on what its own thread has done, as it does without this,
//! and not on the order of what is independent: what a reduction leaves out is the same, as long as who frees a block is settled by what is seen, and nobody uses it after that.
//!
//! It works inside the allocator, and allocates aside. Knows blocks by their numbers; which blocks they are, `allocator` knows.

use super::allocator::aside;
use super::execution::Execution;
use crate::program::Reused;
use crate::trace::ThreadId;
use std::alloc::Layout;
use std::collections::{BTreeMap, BTreeSet};

/// The blocks whose addresses may be used again.
#[derive(Debug, Default)]
pub(super) struct Reuse {
    /// By the number of the region of who has freed them, by size and by alignment; the latest one last. With how many steps had been
    /// taken by then.
    freed: BTreeMap<(usize, usize, usize), Vec<(usize, u64)>>,
    /// Where blocks begin that this execution has got from the system.
    elsewhere: BTreeSet<usize>,
}

impl Reuse {
    /// An execution begins.
    pub(super) fn clear(&mut self) {
        self.freed.values_mut().for_each(Vec::clear);
        self.elsewhere.clear();
    }

    /// The execution gets a block from the system, which begins here.
    pub(super) fn note_elsewhere(&mut self, start: usize) {
        self.elsewhere.insert(start);
    }

    /// Whether such a block begins here.
    pub(super) fn is_elsewhere(&self, start: usize) -> bool {
        self.elsewhere.contains(&start)
    }

    /// The block has been freed by the thread with this region, after so many steps.
    pub(super) fn give(&mut self, region: usize, layout: Layout, block: usize, step_count: u64) {
        self.freed.entry((region, layout.size(), layout.align())).or_default().push((block, step_count));
    }

    /// The block that the thread with this region has freed last, of those like this, and after how many steps. Allocates and frees nothing.
    pub(super) fn take(&mut self, region: usize, layout: Layout) -> Option<(usize, u64)> {
        self.freed.get_mut(&(region, layout.size(), layout.align()))?.pop()
    }
}

impl Execution {
    /// A block begins to lie where another one lay that was freed after so many steps.
    #[cold]
    pub(super) fn address_is_reused(&mut self, start: usize, size: usize, freed: u64) {
        self.memory_is_new(start, size);
        let thread = ThreadId::new(self.current);
        let reused = Reused { start, size, thread, freed, taken: self.step_count };
        if let Some(observer) = self.observer {
            // SAFETY: see `observe_step`.
            aside(|| unsafe { (*observer).reused(reused) });
        }
    }

    /// What lies here from now on is new: what had been there before has been freed, and nothing that was known of it is so of this.
    #[cold]
    pub(super) fn memory_is_new(&mut self, start: usize, size: usize) {
        self.between_steps(Execution::note_freed);
        self.map.renew_block(start, size);
        if self.accesses_hooked {
            self.shadow.renew(start, size);
            self.foreign.forget_variables(start, size);
            self.mixed.forget_handles(start, size);
        }
    }
}
