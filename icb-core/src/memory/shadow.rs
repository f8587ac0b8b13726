//! What is known of the accesses to plain memory, by address: FastTrack (Flanagan and Freund, PLDI 2009, §3) for each
//! granule of eight bytes, or for each byte of a granule that is not always accessed as a whole; and which memory has
//! been freed. It knows nothing of threads but their numbers and clocks.

use crate::clock::{Epoch, VectorClock};

/// Bytes of a granule.
const GRANULE: usize = 8;
/// A freed block larger than this is remembered as a range, besides by those of its granules that have been touched, in
/// bytes.
const SMALL: usize = 256;
const FIRST_BITS: u32 = 10;
/// Granules whose numbers differ only in these lowest bits have their entries side by side.
const NEIGHBOUR_BITS: u32 = 4;

/// One access.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess<'a> {
    /// First byte.
    pub address: usize,
    /// Bytes.
    pub size: usize,
    /// Whether it writes.
    pub write: bool,
    /// Who.
    pub thread: usize,
    /// What the thread has seen.
    pub clock: &'a VectorClock,
    /// The place of the program, for reports.
    pub place: usize,
}

/// The earlier access of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlierAccess {
    /// First byte of the part of memory that both touch.
    pub address: usize,
    /// Who.
    pub thread: usize,
    /// Whether it wrote.
    pub write: bool,
    /// The place of the program.
    pub place: usize,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It is not ordered with an earlier one.
    Race(EarlierAccess),
    /// The memory has been freed.
    Freed {
        /// First byte of the access in freed memory.
        address: usize,
    },
}

/// The accesses to some bytes that are always accessed together.
#[derive(Clone, Copy, Debug)]
struct Cell {
    write: Epoch,
    read: Epoch,
    write_place: usize,
    read_place: usize,
    /// Once reads are concurrent, the latest one of each thread: number in `reads` + 1.
    reads: u32,
}

impl Cell {
    const NEW: Cell = Cell { write: Epoch::NONE, read: Epoch::NONE, write_place: 0, read_place: 0, reads: 0 };
}

/// A granule that this execution has touched.
#[derive(Clone, Copy, Debug)]
struct Entry {
    granule: usize,
    epoch: u32,
    /// The first of eight cells, one for each byte, if it is `split`.
    first: u32,
    /// The bytes that the one cell is about.
    bytes: u8,
    split: bool,
    freed: bool,
    cell: Cell,
}

impl Entry {
    const NONE: Entry =
        Entry { granule: 0, epoch: 0, first: 0, bytes: 0, split: false, freed: false, cell: Cell::NEW };
}

/// The shadow of the memory that the running execution has touched. Open addressing; entries of earlier executions count
/// as free.
#[derive(Debug)]
pub struct Shadow {
    entries: Vec<Entry>,
    shift: u32,
    used: usize,
    epoch: u32,
    cells: Vec<Cell>,
    reads: Vec<VectorClock>,
    reads_used: usize,
    /// Freed blocks that are not small: first byte, and the one after the last, by address. What had been touched before is
    /// marked besides, so these are looked through only when a granule is touched for the first time.
    freed: Vec<(usize, usize)>,
}

impl Default for Shadow {
    fn default() -> Self {
        Shadow {
            entries: Vec::new(),
            shift: usize::BITS - FIRST_BITS,
            used: 0,
            epoch: 0,
            cells: Vec::new(),
            reads: Vec::new(),
            reads_used: 0,
            freed: Vec::new(),
        }
    }
}

/// The bytes of a granule from `first` on, as a mask.
#[inline]
const fn mask(first: usize, count: usize) -> u8 {
    (((1u16 << count) - 1) << first) as u8
}

impl Shadow {
    /// An execution begins: nothing is known. Epochs are never zero and never come back.
    pub fn begin(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.used = 0;
        self.cells.clear();
        self.reads_used = 0;
        self.freed.clear();
    }

    /// Granules that the execution has touched.
    #[must_use]
    #[inline]
    pub fn granule_count(&self) -> usize {
        self.used
    }

    /// Takes note of an access and says what is wrong with it.
    #[inline]
    pub fn access(&mut self, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let first = access.address % GRANULE;
        if first + access.size <= GRANULE {
            return self.granule(access.address / GRANULE, mask(first, access.size), access);
        }
        self.access_many(access)
    }

    fn access_many(&mut self, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let mut trouble = None;
        let (mut at, end) = (access.address, access.address + access.size);
        while at < end {
            let first = at % GRANULE;
            let count = (GRANULE - first).min(end - at);
            let found = self.granule(at / GRANULE, mask(first, count), access);
            trouble = trouble.or(found);
            at += count;
        }
        trouble
    }

    /// A block of memory is freed, which is a write of it: says with which access that is not ordered.
    pub fn free(&mut self, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let end = access.address + access.size;
        let (first, last) = (access.address / GRANULE, end.div_ceil(GRANULE));
        let mut trouble = None;
        if last - first > self.entries.len() {
            for index in 0..self.entries.len() {
                let entry = &self.entries[index];
                if entry.epoch == self.epoch && (first..last).contains(&entry.granule) {
                    let found = self.free_entry(index, access);
                    trouble = trouble.or(found);
                }
            }
        } else if access.size > SMALL {
            for granule in first..last {
                if let Some(index) = self.find(granule) {
                    let found = self.free_entry(index, access);
                    trouble = trouble.or(found);
                }
            }
        } else {
            for granule in first..last {
                let index = self.entry(granule);
                let found = self.free_entry(index, access);
                trouble = trouble.or(found);
            }
        }
        if access.size > SMALL {
            let at = self.freed.partition_point(|&(first, _)| first <= access.address);
            self.freed.insert(at, (access.address, end));
        }
        trouble
    }

    fn free_entry(&mut self, index: usize, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let entry = self.entries[index];
        let mut trouble = None;
        if (entry.bytes != 0 || entry.split) && !entry.freed {
            trouble = self.touch(index, u8::MAX, access);
        }
        self.entries[index].freed = true;
        trouble
    }

    /// Neighbours stay neighbours, a few at a time.
    #[inline]
    fn slot(&self, granule: usize) -> usize {
        let high = (granule >> NEIGHBOUR_BITS).wrapping_mul(0x9E37_79B9_7F4A_7C15_usize) >> self.shift;
        (high & !((1 << NEIGHBOUR_BITS) - 1)) | (granule & ((1 << NEIGHBOUR_BITS) - 1))
    }

    /// The index of the granule's entry, if it has one.
    #[inline]
    fn find(&self, granule: usize) -> Option<usize> {
        let mask = self.entries.len().wrapping_sub(1);
        let mut index = self.slot(granule);
        while let Some(entry) = self.entries.get(index & mask) {
            if entry.epoch != self.epoch {
                return None;
            }
            if entry.granule == granule {
                return Some(index & mask);
            }
            index += 1;
        }
        None
    }

    /// The index of the granule's entry, which is made if need be.
    #[inline]
    fn entry(&mut self, granule: usize) -> usize {
        match self.find(granule) {
            Some(index) => index,
            None => self.enter(granule),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, granule: usize) -> usize {
        if (self.used + 1) * 2 > self.entries.len() {
            self.grow();
        }
        self.used += 1;
        let mask = self.entries.len() - 1;
        let mut index = self.slot(granule) & mask;
        while self.entries[index].epoch == self.epoch {
            index = (index + 1) & mask;
        }
        let address = granule * GRANULE;
        let freed = self.is_in_large_block(address);
        self.entries[index] = Entry { granule, epoch: self.epoch, freed, ..Entry::NONE };
        index
    }

    /// Whether a granule is part of a freed block that is not small. Such blocks do not overlap, so two can share it at most.
    fn is_in_large_block(&self, address: usize) -> bool {
        let next = self.freed.partition_point(|&(first, _)| first < address + GRANULE);
        self.freed[next.saturating_sub(2)..next].iter().any(|&(_, end)| address < end)
    }

    fn grow(&mut self) {
        let size = (self.entries.len() * 2).max(1 << FIRST_BITS);
        let old = std::mem::replace(&mut self.entries, vec![Entry::NONE; size]);
        self.shift = usize::BITS - size.trailing_zeros();
        let epoch = self.epoch;
        for entry in old.into_iter().filter(|entry| entry.epoch == epoch) {
            let mut index = self.slot(entry.granule) & (size - 1);
            while self.entries[index].epoch == epoch {
                index = (index + 1) & (size - 1);
            }
            self.entries[index] = entry;
        }
    }

    #[inline]
    fn granule(&mut self, granule: usize, bytes: u8, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let index = self.entry(granule);
        let entry = &mut self.entries[index];
        if !entry.freed && entry.bytes == bytes && !entry.split {
            let now = access.clock.epoch(access.thread);
            if entry.cell.is_reached_only_by(now) {
                entry.cell.note(now, access);
                return None;
            }
        }
        self.touch(index, bytes, access)
    }

    fn touch(&mut self, index: usize, bytes: u8, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let entry = self.entries[index];
        let address = entry.granule * GRANULE;
        if entry.freed {
            return Some(Trouble::Freed { address: address + bytes.trailing_zeros() as usize });
        }
        let first = if entry.split {
            entry.first
        } else if entry.bytes == bytes || entry.bytes == 0 {
            let entry = &mut self.entries[index];
            entry.bytes = bytes;
            let address = address + bytes.trailing_zeros() as usize;
            return entry.cell.access(&mut self.reads, &mut self.reads_used, address, access);
        } else {
            self.split(index)
        };
        let mut trouble = None;
        for byte in (0..GRANULE).filter(|byte| bytes & (1 << byte) != 0) {
            let cell = &mut self.cells[first as usize + byte];
            let found = cell.access(&mut self.reads, &mut self.reads_used, address + byte, access);
            trouble = trouble.or(found);
        }
        trouble
    }

    /// From now on each byte of the granule has a cell of its own.
    #[cold]
    fn split(&mut self, index: usize) -> u32 {
        let Entry { cell: old, bytes, .. } = self.entries[index];
        let first = self.cells.len() as u32;
        for byte in 0..GRANULE {
            let mut new = if bytes & (1 << byte) != 0 { old } else { Cell::NEW };
            if new.reads != 0 {
                new.reads = self.copy_reads(new.reads);
            }
            self.cells.push(new);
        }
        self.entries[index].first = first;
        self.entries[index].split = true;
        first
    }

    fn copy_reads(&mut self, from: u32) -> u32 {
        let to = new_reads(&mut self.reads, &mut self.reads_used);
        let copy = self.reads[from as usize - 1].clone();
        self.reads[to as usize - 1].clone_from(&copy);
        to
    }
}

fn new_reads(reads: &mut Vec<VectorClock>, used: &mut usize) -> u32 {
    if reads.len() == *used {
        reads.push(VectorClock::new());
    }
    reads[*used].clear();
    *used += 1;
    *used as u32
}

impl Cell {
    /// Whether nobody but the thread of this epoch has accessed the bytes: then nothing can be wrong.
    #[inline]
    fn is_reached_only_by(&self, now: Epoch) -> bool {
        let own = |epoch: Epoch| epoch.thread == now.thread || epoch == Epoch::NONE;
        self.reads == 0 && own(self.write) && own(self.read)
    }

    /// Takes note of an access that nothing is wrong with, where there are no concurrent reads.
    #[inline]
    fn note(&mut self, now: Epoch, access: &MemoryAccess<'_>) {
        if access.write {
            self.write = now;
            self.write_place = access.place;
            self.read = Epoch::NONE;
        } else {
            self.read = now;
            self.read_place = access.place;
        }
    }

    fn access(
        &mut self,
        all_reads: &mut Vec<VectorClock>,
        used: &mut usize,
        address: usize,
        access: &MemoryAccess<'_>,
    ) -> Option<Trouble> {
        let now = access.clock.epoch(access.thread);
        let race = |thread: u32, write, place| {
            Some(Trouble::Race(EarlierAccess { address, thread: thread as usize, write, place }))
        };
        let mut trouble = None;
        if !self.write.happens_before(access.clock) {
            trouble = race(self.write.thread, true, self.write_place);
        }
        if access.write {
            if trouble.is_none() {
                if self.reads != 0 {
                    if let Some(thread) = all_reads[self.reads as usize - 1].first_beyond(access.clock) {
                        trouble = race(thread as u32, false, self.read_place);
                    }
                } else if !self.read.happens_before(access.clock) {
                    trouble = race(self.read.thread, false, self.read_place);
                }
            }
            *self = Cell { write: now, write_place: access.place, ..Cell::NEW };
            return trouble;
        }
        self.read_place = access.place;
        if self.reads != 0 {
            all_reads[self.reads as usize - 1].set(access.thread, now.time);
        } else if self.read.thread == now.thread || self.read.happens_before(access.clock) {
            self.read = now;
        } else {
            let before = self.read;
            self.reads = new_reads(all_reads, used);
            let clock = &mut all_reads[self.reads as usize - 1];
            clock.set(before.thread as usize, before.time);
            clock.set(access.thread, now.time);
        }
        trouble
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(entries: &[u32]) -> VectorClock {
        let mut clock = VectorClock::new();
        for (thread, &time) in entries.iter().enumerate() {
            clock.set(thread, time);
        }
        clock
    }

    fn touch(
        shadow: &mut Shadow,
        (address, size): (usize, usize),
        write: bool,
        thread: usize,
        clock: &VectorClock,
    ) -> Option<Trouble> {
        shadow.access(&MemoryAccess { address, size, write, thread, clock, place: thread + 100 })
    }

    #[test]
    fn unordered_accesses_of_the_same_bytes_race() {
        let (a, b) = (clock(&[1, 0]), clock(&[0, 1]));
        let race =
            |address, write| Some(Trouble::Race(EarlierAccess { address, thread: 0, write, place: 100 }));
        for ((first, second), at) in [
            (((800, 8), (800, 8)), Some(800)),
            (((800, 4), (804, 4)), None),
            (((800, 4), (803, 1)), Some(803)),
            (((801, 1), (800, 8)), Some(801)),
            (((804, 8), (810, 2)), Some(810)),
            (((804, 8), (812, 4)), None),
            (((800, 100), (896, 8)), Some(896)),
        ] {
            let mut shadow = Shadow::default();
            for epoch in 1..4 {
                shadow.begin(epoch);
                assert_eq!(touch(&mut shadow, first, true, 0, &a), None);
                let expected = at.and_then(|at| race(at, true));
                assert_eq!(touch(&mut shadow, second, epoch == 2, 1, &b), expected);
                shadow.begin(epoch + 100);
                assert_eq!(touch(&mut shadow, first, false, 0, &a), None);
                assert_eq!(touch(&mut shadow, second, false, 1, &b), None);
                shadow.begin(epoch + 200);
                assert_eq!(touch(&mut shadow, first, false, 0, &a), None);
                let expected = at.and_then(|at| race(at, false));
                assert_eq!(touch(&mut shadow, second, true, 1, &b), expected);
            }
        }
    }

    #[test]
    fn ordered_accesses_do_not() {
        let mut shadow = Shadow::default();
        shadow.begin(1);
        assert_eq!(touch(&mut shadow, (64, 8), true, 0, &clock(&[1, 0, 0])), None);
        assert_eq!(touch(&mut shadow, (64, 8), false, 1, &clock(&[1, 1, 0])), None);
        assert_eq!(touch(&mut shadow, (64, 8), false, 2, &clock(&[1, 0, 1])), None);
        assert_eq!(touch(&mut shadow, (64, 1), true, 0, &clock(&[2, 1, 1])), None);
        let race = touch(&mut shadow, (64, 8), true, 0, &clock(&[3, 1, 0]));
        assert!(matches!(race, Some(Trouble::Race(EarlierAccess { thread: 2, write: false, .. }))));
    }

    #[test]
    fn freed_memory_is_not_touched() {
        for size in [40, 10_000] {
            let mut shadow = Shadow::default();
            shadow.begin(1);
            let (a, b) = (clock(&[1, 0]), clock(&[1, 1]));
            assert_eq!(touch(&mut shadow, (4096 + 16, 8), true, 0, &a), None);
            let free = |clock| MemoryAccess { address: 4096, size, write: true, thread: 1, clock, place: 0 };
            let unordered = clock(&[0, 1]);
            assert!(matches!(shadow.free(&free(&unordered)), Some(Trouble::Race(_))));
            assert_eq!(
                touch(&mut shadow, (4096 + 20, 4), false, 1, &b),
                Some(Trouble::Freed { address: 4116 })
            );
            assert_eq!(touch(&mut shadow, (4088, 8), false, 1, &b), None);
            assert_eq!(touch(&mut shadow, (4096 + size, 8), false, 1, &b), None);
            shadow.begin(2);
            assert_eq!(touch(&mut shadow, (4096 + 16, 8), true, 0, &a), None);
            assert_eq!(shadow.free(&free(&b)), None);
        }
    }

    #[test]
    fn large_freed_blocks_are_found_by_any_of_their_granules() {
        let mut shadow = Shadow::default();
        shadow.begin(1);
        let clock = clock(&[1]);
        let blocks = [(9_000, 1_000), (1_000, 500), (4_000, 2_000), (20_000, 300), (1_512, 264)];
        for (address, size) in blocks {
            let free = MemoryAccess { address, size, write: true, thread: 0, clock: &clock, place: 0 };
            assert_eq!(shadow.free(&free), None);
        }
        for address in (0..30_000).step_by(GRANULE) {
            let inside =
                |&(first, size): &(usize, usize)| address < first + size && first < address + GRANULE;
            let freed = touch(&mut shadow, (address, GRANULE), false, 0, &clock).is_some();
            assert_eq!(freed, blocks.iter().any(inside), "{address}");
        }
    }

    #[test]
    fn many_granules_are_kept_apart() {
        let mut shadow = Shadow::default();
        let a = clock(&[1]);
        for epoch in 1..3 {
            shadow.begin(epoch);
            for index in 0..5_000 {
                assert_eq!(touch(&mut shadow, (index * 8, 8), true, 0, &a), None);
            }
            let b = clock(&[0, 1]);
            for index in 0..5_000 {
                let race = touch(&mut shadow, (index * 8, 8), false, 1, &b);
                let address = index * 8;
                assert_eq!(
                    race,
                    Some(Trouble::Race(EarlierAccess { address, thread: 0, write: true, place: 100 }))
                );
            }
        }
    }
}
