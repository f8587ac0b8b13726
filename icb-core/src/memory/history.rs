//! The history of an atomic variable: which of its stores a load may read, where loads may read stale values.
//!
//! After C++20, [intro.races] and [atomics.order], which Rust adopts. Modification orders and the total order S of SeqCst operations
//! are the order of execution, so what is not produced: modification orders other than that, and loads that read what is stored
//! only later. Such an execution is consistent if no load reads a store that is too old for it. Let the load L read a store, and let B be
//! a later store of the variable, or a load that has read one. Then L is coherence-ordered before B, and L must not be performed
//! after B if
//!
//! 1. B happens before L: [intro.races] 15, 16, 18 (coherence of reads with reads and with writes; the thread's own included);
//! 2. L and B are SeqCst: L would have to precede B in S ([atomics.order] 4.1);
//! 3. L is SeqCst, and B happens before a SeqCst fence that has been executed (4.2);
//! 4. a SeqCst fence X happens before L, and B is SeqCst and was performed before X (4.3);
//! 5. a SeqCst fence X happens before L, and B happens before a SeqCst fence that was executed before X (4.4).
//!
//! Nothing else makes a store too old: all other edges of these orders lead from what was performed earlier to what was performed later.
//! Fences are ordered in S as they are executed, so of all X that happen before L the latest says most, and what happens before
//! some fence up to X is one clock, the join of theirs.
//!
//! Of a variable it knows nothing but its stores; who runs, and what that costs, it must not know.

use super::happens_before::AtomicClock;
use crate::clock::{Epoch, VectorClock};
use crate::program::Place;
use std::mem::MaybeUninit;

/// What a store has left in memory.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its bytes as they were, with the provenance of a pointer.
    pub bytes: MaybeUninit<u64>,
    /// As a number.
    pub bits: u64,
}

/// One store, or the value that a variable began with.
#[derive(Debug)]
pub struct Store {
    /// What it stored.
    pub value: Value,
    /// Who, and when; of an initial value [`Epoch::NONE`], which happens before everything.
    pub epoch: Epoch,
    /// Where in the program.
    pub place: Option<Place>,
    /// What it was released with.
    pub sync: AtomicClock,
    /// The variable's version since then, for the recognition of spinning.
    pub version: u32,
    /// Position in S; 0: it is not SeqCst.
    position: u32,
    /// Position in S of the first SeqCst load that has read it; 0: there is none.
    read_at: u32,
    /// The first load of each thread that has read it.
    readers: Vec<Epoch>,
}

impl Store {
    /// A store at this point of a thread; `position`: in S, if it is SeqCst.
    #[must_use]
    pub fn new(value: Value, epoch: Epoch, place: Option<Place>, position: Option<u32>) -> Self {
        let (sync, readers) = (AtomicClock::default(), Vec::new());
        Store { value, epoch, place, sync, version: 0, position: position.unwrap_or(0), read_at: 0, readers }
    }

    /// It, or a load that has read it, happens before what has this clock.
    fn is_known_to(&self, clock: &VectorClock) -> bool {
        self.epoch.happens_before(clock) || self.readers.iter().any(|reader| reader.happens_before(clock))
    }

    /// It, or a load that has read it, is SeqCst, and comes before this position.
    fn is_ordered_before(&self, position: u32) -> bool {
        let before = |own: u32| own != 0 && own < position;
        before(self.position) || before(self.read_at)
    }
}

/// The stores of a variable in the order of their execution.
#[derive(Debug, Default)]
pub struct History {
    stores: Vec<Store>,
    /// The size of the variable in bytes.
    size: usize,
    /// By thread how many stale values it has read in a row.
    stale: Vec<u32>,
    /// It is used with orders weaker than SeqCst as well.
    is_weak: bool,
}

impl History {
    /// A variable that nobody has used.
    pub fn clear(&mut self) {
        self.stores.clear();
        self.stale.clear();
        self.is_weak = false;
    }

    /// Nothing but this value can be read any more: whoever wrote it was alone with the variable, and before that was everything else.
    pub fn collapse(&mut self, size: usize, value: Value, version: u32) {
        self.stores.clear();
        self.size = size;
        self.stores.push(Store { version, ..Store::new(value, Epoch::NONE, None, None) });
    }

    /// Whether the newest value is what a variable of this size holds.
    #[must_use]
    pub fn holds(&self, size: usize, bits: u64) -> bool {
        self.size == size && self.stores.last().is_some_and(|newest| newest.value.bits == bits)
    }

    /// A store has been performed.
    pub fn push(&mut self, store: Store) {
        self.stores.push(store);
    }

    /// So many stores can be told apart; the last is the newest.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stores.len()
    }

    /// Whether nobody has used the variable.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    /// One of the stores.
    #[must_use]
    pub fn store(&self, index: usize) -> &Store {
        &self.stores[index]
    }

    /// The oldest store that a load may read whose thread has this clock (see above).
    #[must_use]
    pub fn oldest(&self, clock: &VectorClock, is_seq_cst: bool, order: &TotalOrder) -> usize {
        let fence = order.latest_fence_before(clock);
        let too_old_before = |store: &Store| {
            store.is_known_to(clock)
                || fence.is_some_and(|fence| {
                    store.is_known_to(&fence.known) || store.is_ordered_before(fence.position)
                })
                || (is_seq_cst && (store.is_known_to(&order.known) || store.is_ordered_before(u32::MAX)))
        };
        self.stores.iter().rposition(too_old_before).unwrap_or(0)
    }

    /// A load at this point of a thread has read this store; `position`: in S, if it is SeqCst.
    pub fn note_read(&mut self, index: usize, reader: Epoch, position: Option<u32>) {
        let store = &mut self.stores[index];
        if !store.readers.iter().any(|known| known.thread == reader.thread) {
            store.readers.push(reader);
        }
        if store.read_at == 0 {
            store.read_at = position.unwrap_or(0);
        }
    }

    /// It has been used by an operation that is SeqCst, or not.
    pub fn note_order(&mut self, is_seq_cst: bool) {
        self.is_weak |= !is_seq_cst;
    }

    /// Whether a load has been performed that does not happen before what has this clock, so that in another execution it comes after
    /// that; not where all that use the variable are SeqCst.
    #[must_use]
    pub fn is_ahead_of_loads(&self, clock: &VectorClock) -> bool {
        let mut readers = self.stores.iter().flat_map(|store| &store.readers);
        self.is_weak && readers.any(|reader| !reader.happens_before(clock))
    }

    /// How many stale values the thread has read here in a row.
    #[must_use]
    pub fn stale_in_a_row(&self, thread: usize) -> u32 {
        self.stale.get(thread).copied().unwrap_or(0)
    }

    /// The thread has read a stale value here, or something else.
    pub fn note_staleness(&mut self, thread: usize, is_stale: bool) {
        if self.stale.len() <= thread {
            self.stale.resize(thread + 1, 0);
        }
        self.stale[thread] = if is_stale { self.stale[thread] + 1 } else { 0 };
    }
}

/// A SeqCst fence.
#[derive(Debug)]
struct Fence {
    epoch: Epoch,
    position: u32,
    /// What happens before it, or before one that was executed earlier.
    known: VectorClock,
}

/// S: the SeqCst operations in the order of their execution.
#[derive(Debug, Default)]
pub struct TotalOrder {
    length: u32,
    fences: Vec<Fence>,
    /// What happens before some fence.
    known: VectorClock,
}

impl TotalOrder {
    /// Nothing has been performed.
    pub fn clear(&mut self) {
        self.length = 0;
        self.fences.clear();
        self.known.clear();
    }

    /// The position of an operation that is performed now.
    pub fn advance(&mut self) -> u32 {
        self.length += 1;
        self.length
    }

    /// A fence has been executed at this point of a thread; `clock`: what happens before it.
    pub fn fence(&mut self, epoch: Epoch, clock: &VectorClock) {
        self.known.join(clock);
        let position = self.advance();
        self.fences.push(Fence { epoch, position, known: self.known.clone() });
    }

    fn latest_fence_before(&self, clock: &VectorClock) -> Option<&Fence> {
        self.fences.iter().rev().find(|fence| fence.epoch.happens_before(clock))
    }
}
