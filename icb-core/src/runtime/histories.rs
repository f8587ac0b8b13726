//! What became of each block of memory, written down in a replay only: where it was allocated, used last and freed, and
//! where memory that held a pointer to it was freed. Knows blocks by address and return addresses without names; that
//! somebody asks, and when, is the ledger's business.

use super::backtrace::Resolver;
use crate::trace::{MemoryEvent, MemoryEventKind, ThreadId, table};
use std::collections::BTreeMap;

/// Bytes of a freed block that are looked through for pointers, at most.
const MAX_SCANNED: usize = 64 * 1024;

/// Who was where.
#[derive(Clone, Debug)]
struct Moment {
    thread: usize,
    trace: Vec<usize>,
}

#[derive(Debug)]
struct History {
    size: usize,
    allocated: Moment,
    used: Option<Moment>,
    freed: Vec<Moment>,
    /// The latest free of memory that held a pointer to it.
    lost: Option<Moment>,
}

/// The blocks of an execution, by their first byte.
#[derive(Debug, Default)]
pub(super) struct Histories(BTreeMap<usize, History>);

impl Histories {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn allocated(&mut self, start: usize, size: usize, thread: usize, trace: Vec<usize>) {
        let allocated = Moment { thread, trace };
        let history = History { size, allocated, used: None, freed: Vec::new(), lost: None };
        self.0.insert(start, history);
    }

    pub(super) fn freed(&mut self, start: usize, size: usize, thread: usize, trace: Vec<usize>) {
        let moment = Moment { thread, trace };
        let again = self.0.get(&start).is_some_and(|history| !history.freed.is_empty());
        if !again {
            self.look_for_pointers(start, size.min(MAX_SCANNED), &moment);
        }
        if let Some(history) = self.0.get_mut(&start) {
            history.freed.push(moment);
        }
    }

    /// The block is about to be freed: what it points to loses a pointer.
    fn look_for_pointers(&mut self, start: usize, size: usize, moment: &Moment) {
        let first = start.next_multiple_of(size_of::<usize>());
        let words = (start + size).saturating_sub(first) / size_of::<usize>();
        for word in 0..words {
            let word: *const usize = std::ptr::with_exposed_provenance(first + word * size_of::<usize>());
            // SAFETY: the block is freed by its owner right now and still mapped. Its bytes may never have been written;
            // they are looked at as they are, and serve for a report only.
            let value = unsafe { word.read_volatile() };
            if let Some((&at, history)) = self.0.range_mut(..=value).next_back()
                && value < at + history.size
                && at != start
                && history.freed.is_empty()
            {
                history.lost = Some(moment.clone());
            }
        }
    }

    pub(super) fn used(&mut self, address: usize, thread: usize, trace: Vec<usize>) {
        if let Some(history) = self.around(address) {
            history.used = Some(Moment { thread, trace });
        }
    }

    /// Whether the address lies in a block.
    pub(super) fn holds(&mut self, address: usize) -> bool {
        self.around(address).is_some()
    }

    fn around(&mut self, address: usize) -> Option<&mut History> {
        let (&start, history) = self.0.range_mut(..=address).next_back()?;
        (address < start + history.size).then_some(history)
    }

    /// What became of the block around this address, up to now.
    pub(super) fn of(&mut self, address: usize) -> Vec<MemoryEvent> {
        let Some(history) = self.around(address) else { return Vec::new() };
        let mut resolver = Resolver::default();
        let mut event = |kind, moment: &Moment| {
            let backtrace = resolver.frames(&moment.trace);
            let location = table::place_in_program(&backtrace).cloned();
            MemoryEvent { kind, thread: ThreadId::new(moment.thread), location, backtrace }
        };
        let mut events = vec![event(MemoryEventKind::Allocated, &history.allocated)];
        if history.freed.is_empty() {
            events.extend(history.used.iter().map(|moment| event(MemoryEventKind::UsedLast, moment)));
            events.extend(history.lost.iter().map(|moment| event(MemoryEventKind::Lost, moment)));
        }
        let kinds = [MemoryEventKind::Freed, MemoryEventKind::FreedAgain];
        events.extend(kinds.into_iter().zip(&history.freed).map(|(kind, moment)| event(kind, moment)));
        events
    }
}
