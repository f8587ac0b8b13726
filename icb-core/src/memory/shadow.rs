//! What is known of the accesses to plain memory, by address: FastTrack (Flanagan and Freund, PLDI 2009, §3) for each
//! granule of eight bytes, for each part of a granule that is not always accessed as a whole, or for a line of eight granules as long as it
//! always is; and which memory has been freed. It knows nothing of threads but their numbers and clocks.

use crate::clock::{Epoch, VectorClock};

/// Bytes of a granule.
const GRANULE: usize = 8;
/// Granules of a line.
const LINE: usize = 8;
/// A freed block is remembered as a range, besides by those of its granules that have been touched: a block larger than
/// this, in bytes, or while there are fewer ranges than `FEW`.
const SMALL: usize = 256;
const FEW: usize = 64;
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

/// Reads that are concurrent.
#[derive(Clone, Debug, Default)]
struct Readers {
    /// The latest one of each thread.
    clock: VectorClock,
    /// Where that was, by thread.
    places: Vec<usize>,
}

impl Readers {
    fn set(&mut self, thread: usize, time: u32, place: usize) {
        self.clock.set(thread, time);
        if self.places.len() <= thread {
            self.places.resize(thread + 1, 0);
        }
        self.places[thread] = place;
    }

    fn clear(&mut self) {
        self.clock.clear();
        self.places.clear();
    }
}

/// A granule that this execution has touched, or the line that it is the first one of. Where a granule has an entry, so has the first one of its line,
/// and where a line has the one entry, its other granules have none.
#[derive(Clone, Copy, Debug)]
struct Entry {
    granule: usize,
    epoch: u32,
    /// The first of the parts, if there are any; there is room for eight.
    first: u32,
    /// Bytes that were not always accessed together have cells apart: so many parts. 0: there is the one cell. `FREED`. Beside that, `ATOMIC` and
    /// `WHOLE`.
    parts: u8,
    /// The bytes that the one cell is about.
    bytes: u8,
    /// The bytes that are those of atomic variables.
    atomic: u8,
    cell: Cell,
}

/// Instead of the number of its parts: the granule has been freed.
const FREED: u8 = 0x3F;
/// Beside the number of its parts: there are atomic variables in the granule.
const ATOMIC: u8 = 0x40;
/// Beside the number of its parts: the entry is that of a line.
const WHOLE: u8 = 0x80;

impl Entry {
    const NONE: Entry =
        Entry { granule: 0, epoch: 0, first: 0, parts: 0, bytes: 0, atomic: 0, cell: Cell::NEW };

    /// Nothing is known any more of what it is for.
    fn clear(&mut self) {
        *self = Entry { granule: self.granule, epoch: self.epoch, ..Entry::NONE };
    }

    /// The number of its parts, if it has not been freed.
    #[inline]
    const fn part_count(&self) -> Option<usize> {
        let parts = self.parts & !(ATOMIC | WHOLE);
        if parts == FREED { None } else { Some(parts as usize) }
    }

    /// Whether it is that of a line.
    #[inline]
    const fn is_whole(&self) -> bool {
        self.parts & WHOLE != 0
    }
}

/// Some bytes of a granule, and what is known of them. Parts do not overlap.
#[derive(Clone, Copy, Debug)]
struct Part {
    bytes: u8,
    cell: Cell,
}

impl Part {
    const NONE: Part = Part { bytes: 0, cell: Cell::NEW };
}

/// The shadow of the memory that the running execution has touched. Open addressing; entries of earlier executions count
/// as free.
#[derive(Debug)]
pub struct Shadow {
    entries: Vec<Entry>,
    shift: u32,
    used: usize,
    epoch: u32,
    parts: Vec<Part>,
    reads: Vec<Readers>,
    reads_used: usize,
    /// Freed blocks, but for small ones where there are many: first byte, and the one after the last, by address. What had
    /// been touched before is marked besides, so these are looked through only when a granule is touched for the first time.
    freed: Vec<(usize, usize)>,
    /// Between these addresses nothing of that lies.
    unfreed: (usize, usize),
    /// Granules in which plain accesses have met atomic variables, to be taken.
    pub met_atomics: Vec<usize>,
}

impl Default for Shadow {
    fn default() -> Self {
        Shadow {
            entries: Vec::new(),
            shift: usize::BITS - FIRST_BITS,
            used: 0,
            epoch: 0,
            parts: Vec::new(),
            reads: Vec::new(),
            reads_used: 0,
            freed: Vec::new(),
            unfreed: (0, 0),
            met_atomics: Vec::new(),
        }
    }
}

/// Where the line begins that the address is in.
#[must_use]
pub const fn line_start(address: usize) -> usize {
    address / (LINE * GRANULE) * (LINE * GRANULE)
}

/// The first granule of a granule's line.
#[inline]
const fn head(granule: usize) -> usize {
    granule & !(LINE - 1)
}

/// The bytes of a granule from `first` on, as a mask.
#[inline]
const fn mask(first: usize, count: usize) -> u8 {
    (((1u16 << count) - 1) << first) as u8
}

/// The granules that these bytes lie in, each with a mask of its bytes.
fn granules(address: usize, size: usize) -> impl Iterator<Item = (usize, u8)> {
    let end = address + size;
    (address / GRANULE..end.div_ceil(GRANULE)).map(move |granule| {
        let (from, to) = (address.max(granule * GRANULE), end.min((granule + 1) * GRANULE));
        (granule, mask(from % GRANULE, to - from))
    })
}

impl Shadow {
    /// An execution begins: nothing is known. Epochs are never zero and never come back.
    pub fn begin(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.used = 0;
        self.parts.clear();
        self.reads_used = 0;
        self.freed.clear();
        self.unfreed = (0, 0);
        self.met_atomics.clear();
    }

    /// Granules that the execution has touched, each with the first one of its line.
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
            let index = self.entry(access.address / GRANULE);
            return self.granule(index, mask(first, access.size), access);
        }
        self.access_many(access)
    }

    #[inline(never)]
    fn access_many(&mut self, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let end = access.address + access.size;
        let (first, last) = (access.address.div_ceil(GRANULE), end / GRANULE);
        let (first_line, last_line) = (first.next_multiple_of(LINE), head(last));
        if first_line >= last_line {
            return self.access_each(access.address, end, access);
        }
        let mut trouble = self.access_each(access.address, first_line * GRANULE, access);
        for line in (first_line..last_line).step_by(LINE) {
            let found = match self.line(line) {
                Some(index) => self.whole_line(index, access),
                None => self.access_each(line * GRANULE, (line + LINE) * GRANULE, access),
            };
            trouble = trouble.or(found);
        }
        trouble.or(self.access_each(last_line * GRANULE, end, access))
    }

    /// The part of an access from one address up to another.
    #[inline]
    fn access_each(&mut self, start: usize, end: usize, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let mut trouble = None;
        let mut next = usize::MAX;
        for (granule, bytes) in granules(start, end - start) {
            // Neighbours have their entries side by side.
            let index = match self.entries.get(next) {
                Some(entry) if entry.granule == granule && entry.epoch == self.epoch => next,
                _ => self.entry(granule),
            };
            next = index + 1;
            let found = self.granule(index, bytes, access);
            if trouble.is_none() {
                trouble = found;
            }
        }
        trouble
    }

    /// The index of the entry of the line that begins with this granule, which is made if nothing of it has been touched. `None`: its granules are known
    /// one by one.
    fn line(&mut self, head: usize) -> Option<usize> {
        if let Some(index) = self.find(head) {
            return self.entries[index].is_whole().then_some(index);
        }
        let address = head * GRANULE;
        if self.is_in_range(address, LINE * GRANULE) {
            return None;
        }
        let index = self.insert(head);
        self.entries[index].parts = WHOLE;
        self.entries[index].bytes = u8::MAX;
        Some(index)
    }

    /// All of a line is accessed.
    fn whole_line(&mut self, index: usize, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let entry = &mut self.entries[index];
        let address = entry.granule * GRANULE;
        if entry.part_count().is_none() {
            return Some(Trouble::Freed { address });
        }
        if entry.cell.is_ordered_before(access) {
            entry.cell.note(access);
            return None;
        }
        entry.cell.access(&mut self.reads, &mut self.reads_used, address, access)
    }

    /// The granules of a line have entries of their own from now on, which say of each what was known of all. The index of the entry of one of them.
    #[cold]
    fn split(&mut self, index: usize, granule: usize) -> usize {
        let whole = self.entries[index];
        for other in whole.granule..whole.granule + LINE {
            let at = if other == whole.granule { index } else { self.insert(other) };
            let mut cell = whole.cell;
            if cell.reads != 0 && other != whole.granule {
                cell.reads = self.copy_reads(cell.reads);
            }
            self.entries[at] = Entry { granule: other, parts: whole.parts & !WHOLE, cell, ..whole };
        }
        self.find(granule).unwrap_or(index)
    }

    /// The index of the entry of the granule that has this entry, or whose line has.
    #[inline]
    fn alone(&mut self, index: usize) -> usize {
        let entry = &self.entries[index];
        if entry.is_whole() { self.split(index, entry.granule) } else { index }
    }

    /// If a line with the one entry goes on across the beginning of this granule, it has one for each granule from now on.
    fn split_at(&mut self, granule: usize) {
        if !granule.is_multiple_of(LINE)
            && let Some(index) = self.find(head(granule))
            && self.entries[index].is_whole()
        {
            self.split(index, granule);
        }
    }

    /// A block of memory is freed, which is a write of it: says with which access that is not ordered.
    pub fn free(&mut self, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let end = access.address + access.size;
        let (first, last) = (access.address / GRANULE, end.div_ceil(GRANULE));
        let ranged = access.size > SMALL || self.freed.len() < FEW;
        let mut trouble = None;
        // What is a line from here on lies within the block.
        self.split_at(first);
        self.split_at(last);
        if last - first > self.entries.len() {
            for index in 0..self.entries.len() {
                let entry = &self.entries[index];
                if entry.epoch == self.epoch && (first..last).contains(&entry.granule) {
                    let found = self.free_entry(index, access);
                    trouble = trouble.or(found);
                }
            }
        } else {
            let mut granule = first;
            while granule < last {
                let (index, next) = self.freed_entry(granule, last, ranged);
                granule = next;
                if let Some(index) = index {
                    let found = self.free_entry(index, access);
                    trouble = trouble.or(found);
                }
            }
        }
        if ranged {
            let at = self.freed.partition_point(|&(first, _)| first <= access.address);
            self.freed.insert(at, (access.address, end));
            self.unfreed = (0, 0);
        }
        trouble
    }

    /// The entry by which it is noted that a granule has been freed, or a line, and the first granule behind; all of it up to `last` is. Where freed memory is
    /// `ranged`, what has no entry needs none.
    fn freed_entry(&mut self, granule: usize, last: usize, ranged: bool) -> (Option<usize>, usize) {
        let end = head(granule) + LINE;
        match self.find(head(granule)) {
            Some(index) if self.entries[index].is_whole() => return (Some(index), end),
            None if ranged => return (None, end),
            None if granule.is_multiple_of(LINE) && end <= last => {
                if let Some(index) = self.line(granule) {
                    return (Some(index), end);
                }
            }
            _ => {}
        }
        (if ranged { self.find(granule) } else { Some(self.entry(granule)) }, granule + 1)
    }

    /// Nothing is known any more of accesses to some memory.
    pub fn forget(&mut self, address: usize, size: usize) {
        let granules = address / GRANULE..(address + size).div_ceil(GRANULE);
        self.split_at(granules.start);
        self.split_at(granules.end);
        if self.entries.len() < granules.len() {
            let is_of_them =
                |entry: &&mut Entry| entry.epoch == self.epoch && granules.contains(&entry.granule);
            self.entries.iter_mut().filter(is_of_them).for_each(Entry::clear);
        } else {
            for granule in granules {
                if let Some(index) = self.find(granule) {
                    self.entries[index].clear();
                }
            }
        }
    }

    /// A block comes to lie in memory that has been freed, of whole granules: nothing is known of accesses to it, and they are none of freed memory.
    pub fn renew(&mut self, address: usize, size: usize) {
        self.forget(address, size);
        let from = self.freed.partition_point(|&(start, _)| start < address);
        let to = self.freed.partition_point(|&(start, _)| start < address + size);
        self.freed.drain(from..to);
        self.unfreed = (0, 0);
    }

    /// Nothing is noted of it but that it is freed: whatever is done to it from now on is wrong.
    fn free_entry(&mut self, index: usize, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let entry = &mut self.entries[index];
        let count = entry.part_count()?;
        entry.parts = FREED | (entry.parts & WHOLE);
        if count == 0 && entry.cell.is_ordered_before(access) {
            return None;
        }
        let address = entry.granule * GRANULE;
        let trouble = |bytes: u8, cell: &Cell| {
            let address = address + bytes.trailing_zeros() as usize;
            cell.unordered_before_write(&self.reads, access.clock).map(|earlier| earlier.at(address))
        };
        if count == 0 {
            return if entry.bytes == 0 { None } else { trouble(entry.bytes, &entry.cell) };
        }
        let first = entry.first as usize;
        let parts = &self.parts[first..first + count];
        parts.iter().find_map(|part| trouble(part.bytes, &part.cell))
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

    /// The index of the granule's entry, or of its line's if that begins with it; one is made if need be.
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
        let head = head(granule);
        if granule != head {
            match self.find(head) {
                Some(index) if self.entries[index].is_whole() => return self.split(index, granule),
                Some(_) => {}
                None => {
                    self.enter_alone(head);
                }
            }
        }
        self.enter_alone(granule)
    }

    /// The index of a new entry of a granule.
    fn enter_alone(&mut self, granule: usize) -> usize {
        let index = self.insert(granule);
        if self.is_in_range(granule * GRANULE, GRANULE) {
            self.entries[index].parts = FREED;
        }
        index
    }

    /// The index of a new entry, of which nothing is known.
    fn insert(&mut self, granule: usize) -> usize {
        if (self.used + 1) * 2 > self.entries.len() {
            self.grow();
        }
        self.used += 1;
        let mask = self.entries.len() - 1;
        let mut index = self.slot(granule) & mask;
        while self.entries[index].epoch == self.epoch {
            index = (index + 1) & mask;
        }
        self.entries[index] = Entry { granule, epoch: self.epoch, ..Entry::NONE };
        index
    }

    /// Whether some of these bytes are part of a freed block of those remembered as ranges. Blocks do not overlap, so the last one that begins before their
    /// end reaches furthest.
    fn is_in_range(&mut self, address: usize, size: usize) -> bool {
        let (start, end) = self.unfreed;
        if start <= address && address + size <= end {
            return false;
        }
        let next = self.freed.partition_point(|&(first, _)| first < address + size);
        let start = self.freed[..next].last().map_or(0, |&(_, end)| end);
        if address < start {
            return true;
        }
        self.unfreed = (start, self.freed.get(next).map_or(usize::MAX, |&(first, _)| first));
        false
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

    #[inline(always)]
    fn granule(&mut self, index: usize, bytes: u8, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let entry = &mut self.entries[index];
        let whole = entry.bytes == bytes || entry.bytes == 0;
        if entry.parts == 0 && whole && entry.cell.is_ordered_before(access) {
            entry.bytes = bytes;
            entry.cell.note(access);
            return None;
        }
        self.touch(index, bytes, access)
    }

    #[inline(never)]
    fn touch(&mut self, index: usize, bytes: u8, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let index = self.alone(index);
        let entry = &mut self.entries[index];
        let address = entry.granule * GRANULE;
        let Some(count) = entry.part_count() else {
            return Some(Trouble::Freed { address: address + bytes.trailing_zeros() as usize });
        };
        if entry.atomic & bytes != 0 {
            self.met_atomics.push(entry.granule);
        }
        if count == 0 {
            if entry.bytes == bytes || entry.bytes == 0 {
                entry.bytes = bytes;
                let address = address + bytes.trailing_zeros() as usize;
                return entry.cell.access(&mut self.reads, &mut self.reads_used, address, access);
            }
            entry.parts += 1;
            entry.first = self.parts.len() as u32;
            self.parts.push(Part { bytes: entry.bytes, cell: entry.cell });
            self.parts.resize(self.parts.len() + GRANULE - 1, Part::NONE);
        }
        self.touch_parts(index, bytes, access)
    }

    /// Touches those parts of a granule that these bytes are, which may be new ones.
    fn touch_parts(&mut self, index: usize, bytes: u8, access: &MemoryAccess<'_>) -> Option<Trouble> {
        let Entry { granule, first, parts, .. } = self.entries[index];
        let (first, address, count) = (first as usize, granule * GRANULE, usize::from(parts & !ATOMIC));
        let (mut trouble, mut left, mut end) = (None, bytes, first + count);
        for at in first..first + count {
            let part = self.parts[at];
            let common = part.bytes & bytes;
            if common == 0 {
                continue;
            }
            if common != part.bytes {
                let mut cell = part.cell;
                if cell.reads != 0 {
                    cell.reads = self.copy_reads(cell.reads);
                }
                self.parts[end] = Part { bytes: part.bytes & !bytes, cell };
                self.parts[at].bytes = common;
                end += 1;
            }
            left &= !common;
            let cell = &mut self.parts[at].cell;
            if cell.is_ordered_before(access) {
                cell.note(access);
            } else {
                let address = address + common.trailing_zeros() as usize;
                let found = cell.access(&mut self.reads, &mut self.reads_used, address, access);
                trouble = trouble.or(found);
            }
        }
        if left != 0 {
            let mut cell = Cell::NEW;
            cell.note(access);
            self.parts[end] = Part { bytes: left, cell };
            end += 1;
        }
        self.entries[index].parts = (parts & ATOMIC) | (end - first) as u8;
        trouble
    }

    /// These bytes are an atomic variable's: plain accesses of them are told in `met_atomics`.
    pub fn enter_atomic(&mut self, address: usize, size: usize) {
        for (granule, bytes) in granules(address, size) {
            let index = self.entry(granule);
            let index = self.alone(index);
            let entry = &mut self.entries[index];
            entry.atomic |= bytes;
            entry.parts |= ATOMIC;
        }
    }

    /// With which plain access an atomic one of these bytes is not ordered, if one of the two writes.
    #[must_use]
    pub fn unordered_with_atomic(&self, access: &MemoryAccess<'_>) -> Option<EarlierAccess> {
        self.cells(access.address, access.size).find_map(|(address, cell)| {
            let unordered = match access.write {
                true => cell.unordered_before_write(&self.reads, access.clock),
                false => cell.unordered_write(access.clock),
            };
            let Unordered { thread, write, place } = unordered?;
            Some(EarlierAccess { address, thread: thread as usize, write, place })
        })
    }

    /// Whether all plain accesses to these bytes happen before a thread with this clock.
    #[must_use]
    pub fn is_seen_by(&self, address: usize, size: usize, clock: &VectorClock) -> bool {
        self.cells(address, size).all(|(_, cell)| cell.unordered_before_write(&self.reads, clock).is_none())
    }

    /// What is known of these bytes, with the first one of each cell.
    fn cells(&self, address: usize, size: usize) -> impl Iterator<Item = (usize, &Cell)> {
        granules(address, size).flat_map(move |(granule, bytes)| {
            let entry = |granule| self.find(granule).map(|index| &self.entries[index]);
            let entry = entry(granule).or_else(|| entry(head(granule)).filter(|entry| entry.is_whole()));
            let count = entry.and_then(Entry::part_count);
            let one = entry.filter(|_| count == Some(0)).map(|entry| (entry.bytes, &entry.cell));
            let first = entry.map_or(0, |entry| entry.first as usize);
            let parts = if let Some(count @ 1..) = count { &self.parts[first..first + count] } else { &[] };
            let cells = one.into_iter().chain(parts.iter().map(|part| (part.bytes, &part.cell)));
            cells
                .filter(move |(own, _)| own & bytes != 0)
                .map(move |(own, cell)| (granule * GRANULE + (own & bytes).trailing_zeros() as usize, cell))
        })
    }

    fn copy_reads(&mut self, from: u32) -> u32 {
        let to = new_reads(&mut self.reads, &mut self.reads_used);
        let copy = self.reads[from as usize - 1].clone();
        self.reads[to as usize - 1].clone_from(&copy);
        to
    }
}

fn new_reads(reads: &mut Vec<Readers>, used: &mut usize) -> u32 {
    if reads.len() == *used {
        reads.push(Readers::default());
    }
    reads[*used].clear();
    *used += 1;
    *used as u32
}

/// An access that another one is not ordered after.
#[derive(Clone, Copy, Debug)]
struct Unordered {
    thread: u32,
    write: bool,
    place: usize,
}

impl Unordered {
    fn at(self, address: usize) -> Trouble {
        let Unordered { thread, write, place } = self;
        Trouble::Race(EarlierAccess { address, thread: thread as usize, write, place })
    }
}

impl Cell {
    /// Whether the other accesses are ordered before this one, and there are no concurrent reads: then nothing can be wrong.
    #[inline(always)]
    fn is_ordered_before(&self, access: &MemoryAccess<'_>) -> bool {
        let known =
            |epoch: Epoch| epoch.thread as usize == access.thread || epoch.happens_before(access.clock);
        self.reads == 0 && known(self.write) && known(self.read)
    }

    /// Takes note of an access that nothing is wrong with, where there are no concurrent reads.
    #[inline(always)]
    fn note(&mut self, access: &MemoryAccess<'_>) {
        let now = access.clock.epoch(access.thread);
        if access.write {
            self.write = now;
            self.write_place = access.place;
            self.read = Epoch::NONE;
        } else {
            self.read = now;
            self.read_place = access.place;
        }
    }

    fn unordered_write(&self, clock: &VectorClock) -> Option<Unordered> {
        let Cell { write: Epoch { thread, .. }, write_place: place, .. } = *self;
        (!self.write.happens_before(clock)).then_some(Unordered { thread, write: true, place })
    }

    /// With which access a write by whoever has this clock is not ordered.
    fn unordered_before_write(&self, reads: &[Readers], clock: &VectorClock) -> Option<Unordered> {
        let read = |thread, place| Unordered { thread, write: false, place };
        self.unordered_write(clock).or_else(|| match self.reads {
            0 => (!self.read.happens_before(clock)).then(|| read(self.read.thread, self.read_place)),
            reads_at => {
                let readers = &reads[reads_at as usize - 1];
                let thread = readers.clock.first_beyond(clock)?;
                Some(read(thread as u32, readers.places[thread]))
            }
        })
    }

    fn access(
        &mut self,
        all_reads: &mut Vec<Readers>,
        used: &mut usize,
        address: usize,
        access: &MemoryAccess<'_>,
    ) -> Option<Trouble> {
        let now = access.clock.epoch(access.thread);
        if access.write {
            let unordered = self.unordered_before_write(all_reads, access.clock);
            *self = Cell { write: now, write_place: access.place, ..Cell::NEW };
            return unordered.map(|earlier| earlier.at(address));
        }
        let unordered = self.unordered_write(access.clock);
        if self.reads != 0 {
            all_reads[self.reads as usize - 1].set(access.thread, now.time, access.place);
        } else if self.read.thread == now.thread || self.read.happens_before(access.clock) {
            (self.read, self.read_place) = (now, access.place);
        } else {
            self.reads = new_reads(all_reads, used);
            let readers = &mut all_reads[self.reads as usize - 1];
            readers.set(self.read.thread as usize, self.read.time, self.read_place);
            readers.set(access.thread, now.time, access.place);
        }
        unordered.map(|earlier| earlier.at(address))
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
    fn memory_that_is_forgotten_is_new() {
        let (a, b) = (clock(&[1, 0]), clock(&[0, 1]));
        let mut shadow = Shadow::default();
        shadow.begin(1);
        for at in [4088, 4096, 8184, 8192] {
            assert_eq!(touch(&mut shadow, (at, 8), true, 0, &a), None);
        }
        shadow.forget(4096, 4096);
        let races = [4088, 4096, 8184, 8192].map(|at| touch(&mut shadow, (at, 8), true, 1, &b).is_some());
        assert_eq!(races, [true, false, false, true]);
        // What is forgotten begins and ends within lines.
        shadow.begin(2);
        assert_eq!(touch(&mut shadow, (4096, 256), true, 0, &a), None);
        shadow.forget(4096 + 24, 80);
        let races = [16, 24, 96, 104].map(|at| touch(&mut shadow, (4096 + at, 8), true, 1, &b).is_some());
        assert_eq!(races, [true, false, false, true]);
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
    fn many_small_freed_blocks_are_found_too() {
        let mut shadow = Shadow::default();
        shadow.begin(1);
        let clock = clock(&[1]);
        for block in 0..200 {
            let address = 10_000 + block * 64;
            assert_eq!(touch(&mut shadow, (address + 8, 8), true, 0, &clock), None);
            let free = MemoryAccess { address, size: 48, write: true, thread: 0, clock: &clock, place: 0 };
            assert_eq!(shadow.free(&free), None);
        }
        for block in 0..200 {
            for offset in (0..64).step_by(GRANULE) {
                let address = 10_000 + block * 64 + offset;
                let found = touch(&mut shadow, (address, GRANULE), false, 0, &clock);
                assert_eq!(found, (offset < 48).then_some(Trouble::Freed { address }));
            }
        }
        // A new block lies where every other one lay.
        for block in (0..200).step_by(2) {
            shadow.renew(10_000 + block * 64, 48);
        }
        for block in 0..200 {
            let address = 10_000 + block * 64 + 40;
            let found = touch(&mut shadow, (address, GRANULE), true, 0, &clock);
            assert_eq!(found, (block % 2 > 0).then_some(Trouble::Freed { address }));
        }
    }

    /// The latest accesses of each byte, by thread.
    #[derive(Clone, Copy, Default)]
    struct Byte {
        written: [u32; 3],
        read: [u32; 3],
    }

    /// Accesses of any size at any place are judged as if each byte were on its own.
    fn says_what_its_bytes_say(epochs: std::ops::Range<u32>, length: usize, sizes: &[usize]) -> usize {
        let mut state = 9u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut shadow, mut found) = (Shadow::default(), 0);
        for epoch in epochs {
            shadow.begin(epoch);
            // Others have been freed already, so that blocks are not ranges.
            let others = if epoch % 2 == 0 { FEW } else { 0 };
            shadow.freed = (0..others).map(|at| (1 << 20 | at << 4, 1 << 20 | at << 4 | 8)).collect();
            let mut bytes = vec![Byte::default(); length];
            let mut freed = 0..0;
            let mut clocks: Vec<VectorClock> = (0..3)
                .map(|thread| clock(&std::array::from_fn::<u32, 3, _>(|t| u32::from(t == thread))))
                .collect();
            for _ in 0..24 {
                let (thread, other) = (random(3), random(3));
                if random(3) > 0 {
                    let known = clocks[other].clone();
                    clocks[thread].join(&known);
                    clocks[other].tick(other);
                }
                let size = sizes[random(sizes.len())];
                let (address, write) = (random(length - size), random(3) == 0);
                let known = clocks[thread].clone();
                let unseen = |times: &[u32; 3]| (0..3).any(|t| times[t] > known.get(t));
                let unordered = |byte: &Byte| unseen(&byte.written) || unseen(&byte.read);
                // Whole granules, as blocks of memory are.
                let whole = address / GRANULE * GRANULE..(address + size).div_ceil(GRANULE) * GRANULE;
                let all = || whole.clone().filter(|&at| at < length);
                let access = MemoryAccess { address, size, write, thread, clock: &known, place: 0 };
                let overlaps = freed.start < address + size && address < freed.end;
                match random(40) {
                    0 if freed.is_empty() => {
                        let races = all().any(|at| unordered(&bytes[at]));
                        let of_block =
                            MemoryAccess { address: whole.start, size: whole.len(), write: true, ..access };
                        assert_eq!(shadow.free(&of_block).is_some(), races);
                        all().for_each(|at| bytes[at] = Byte::default());
                        freed = whole;
                        continue;
                    }
                    1 if freed.is_empty() => {
                        shadow.forget(whole.start, whole.len());
                        all().for_each(|at| bytes[at] = Byte::default());
                        continue;
                    }
                    3..12 if !freed.is_empty() => {
                        shadow.renew(freed.start, freed.len());
                        freed = 0..0;
                        continue;
                    }
                    2 => {
                        let seen = bytes[address..address + size].iter().all(|byte| !unordered(byte));
                        assert_eq!(shadow.is_seen_by(address, size, &known), seen);
                        continue;
                    }
                    _ => {}
                }
                let touched = bytes[address..address + size].iter();
                let races =
                    touched.filter(|byte| unseen(&byte.written) || (write && unseen(&byte.read))).count();
                assert_eq!(shadow.access(&access).is_some(), races > 0 || overlaps);
                if races > 0 {
                    found += 1;
                    break;
                }
                if overlaps {
                    // What of it is not freed is noted or not.
                    break;
                }
                for byte in &mut bytes[address..address + size] {
                    let times = if write { &mut byte.written } else { &mut byte.read };
                    times[thread] = known.get(thread);
                }
            }
        }
        found
    }

    #[test]
    fn parts_of_granules_say_what_their_bytes_say() {
        let found = says_what_its_bytes_say(1..4_000, 48, &[1, 2, 4, 8, 8, 12]);
        assert!(found > 500, "{found}");
    }

    #[test]
    fn lines_say_what_their_bytes_say() {
        let found = says_what_its_bytes_say(1..4_000, 400, &[1, 8, 8, 16, 64, 72, 128, 150, 300]);
        assert!(found > 500, "{found}");
        // All at once, again and again.
        let found = says_what_its_bytes_say(1..2_000, 321, &[320, 320, 320, 8, 64]);
        assert!(found > 500, "{found}");
    }

    #[test]
    fn the_place_is_that_of_the_read_that_is_not_ordered() {
        let (a, b) = (clock(&[1, 0]), clock(&[0, 1]));
        let mut shadow = Shadow::default();
        shadow.begin(1);
        assert_eq!(touch(&mut shadow, (8, 8), false, 0, &a), None);
        assert_eq!(touch(&mut shadow, (8, 8), false, 1, &b), None);
        let race =
            |thread| Trouble::Race(EarlierAccess { address: 8, thread, write: false, place: thread + 100 });
        assert_eq!(touch(&mut shadow, (8, 8), true, 1, &b), Some(race(0)));
        // Granules of a line, and parts of a granule, have copies.
        assert_eq!(touch(&mut shadow, (64, 64), false, 0, &a), None);
        assert_eq!(touch(&mut shadow, (64, 64), false, 1, &b), None);
        assert_eq!(touch(&mut shadow, (72, 8), false, 2, &clock(&[0, 0, 1])), None);
        assert_eq!(touch(&mut shadow, (80, 8), true, 0, &clock(&[1, 1, 0])), None);
        assert_eq!(touch(&mut shadow, (16, 8), false, 0, &a), None);
        assert_eq!(touch(&mut shadow, (16, 8), false, 1, &b), None);
        let found = touch(&mut shadow, (16, 4), true, 0, &a);
        assert_eq!(
            found,
            Some(Trouble::Race(EarlierAccess { address: 16, thread: 1, write: false, place: 101 }))
        );
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
