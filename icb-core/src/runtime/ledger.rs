//! What the allocator writes down when somebody asks: which blocks an execution has allocated and not freed, and who
//! freed a block. Knows blocks by address; what a leak is, `leaks` decides.
//!
//! It works inside the allocator, on the stack of whoever allocates, and allocates itself: while it does, the
//! allocator leaves it alone (`BUSY`). Backtraces are taken unresolved, which is quick and needs little stack.

use super::backtrace::{Resolver, addresses};
use crate::trace::{Frame, ThreadId};
use std::cell::Cell;
use std::collections::HashMap;

thread_local! {
    /// The ledger of this OS thread is being read or written: what it allocates itself is not written down.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A block that has been allocated and not been freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unfreed {
    pub(super) start: usize,
    pub(super) size: usize,
    run: u32,
    /// Its number among the allocations of its run.
    pub(super) ordinal: u64,
}

/// Who freed a block.
struct Freed {
    start: usize,
    size: usize,
    thread: usize,
    trace: Vec<usize>,
}

/// What is written down.
#[derive(Default)]
pub(super) struct Ledger {
    /// Allocations are written down.
    allocations: bool,
    /// Frees are written down.
    frees: bool,
    run: u32,
    next_ordinal: u64,
    unfreed: HashMap<usize, Unfreed>,
    /// Allocations, by number, whose backtraces are wanted.
    wanted: Vec<u64>,
    traces: HashMap<u64, Vec<usize>>,
    freed: Vec<Freed>,
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
    pub(super) fn begin(&mut self, allocations: bool, frees: bool) {
        (self.allocations, self.frees) = (allocations, frees);
        self.freed.clear();
        self.run += 1;
        self.next_ordinal = 0;
    }

    /// Whether the allocator has anything to tell.
    pub(super) fn is_open(&self) -> bool {
        self.allocations || self.frees
    }

    /// Forgets the blocks of earlier executions.
    pub(super) fn forget(&mut self) {
        self.unfreed.clear();
        self.wanted.clear();
        self.traces.clear();
    }

    /// The blocks of the latest execution that it has not freed, oldest first.
    pub(super) fn unfreed(&self) -> Vec<Unfreed> {
        let mut all: Vec<_> = self.unfreed.values().filter(|block| block.run == self.run).copied().collect();
        all.sort_by_key(|block| block.ordinal);
        all
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

    /// Who freed the block around this address, and where.
    pub(super) fn freed_by(&mut self, address: usize) -> Option<(ThreadId, Vec<Frame>)> {
        BUSY.set(true);
        let around = |freed: &Freed| (freed.start..freed.start + freed.size).contains(&address);
        let index = self.freed.iter().rposition(around);
        let freed = index.map(|index| self.freed.swap_remove(index));
        let answer =
            freed.map(|freed| (ThreadId::new(freed.thread), Resolver::default().frames(&freed.trace)));
        BUSY.set(false);
        answer
    }

    /// # Safety
    /// `ledger` is valid and, unless `BUSY` is set, not borrowed.
    #[cold]
    pub(super) unsafe fn note_allocation(ledger: *mut Ledger, start: usize, size: usize) {
        if BUSY.replace(true) {
            return;
        }
        // SAFETY: the caller's promise; a call from inside this one does not come as far as here.
        let ledger = unsafe { &mut *ledger };
        if !ledger.allocations {
            BUSY.set(false);
            return;
        }
        let (run, ordinal) = (ledger.run, ledger.next_ordinal);
        ledger.next_ordinal += 1;
        ledger.unfreed.insert(start, Unfreed { start, size, run, ordinal });
        if ledger.wanted.binary_search(&ordinal).is_ok() {
            ledger.traces.insert(ordinal, addresses());
        }
        BUSY.set(false);
    }

    /// # Safety
    /// As [`note_allocation`](Self::note_allocation).
    #[cold]
    pub(super) unsafe fn note_free(ledger: *mut Ledger, start: usize, size: usize) {
        if BUSY.replace(true) {
            return;
        }
        // SAFETY: as above.
        let ledger = unsafe { &mut *ledger };
        ledger.unfreed.remove(&start);
        if ledger.frees {
            let thread = ledger.thread;
            ledger.freed.push(Freed { start, size, thread, trace: addresses() });
        }
        BUSY.set(false);
    }
}
