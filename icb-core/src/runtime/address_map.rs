//! From an address to the number of the object that lives there in this execution.
//!
//! Open addressing with linear probing. An entry belongs to the execution whose epoch it carries; entries of earlier
//! executions count as free, so beginning an execution costs nothing.

/// What stands at an address. Atomics, cells and counts can share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Atomic = 0,
    Cell = 1,
    Count = 2,
    /// A granule of plain memory.
    Memory = 3,
    /// An object that carries a handle. Entered only where somebody wants to know of its end.
    Object = 4,
}

/// Bits of a key that tell the kind.
const KIND_BITS: u32 = 3;

/// The key of an object of this kind.
#[inline]
pub(crate) const fn key(address: usize, kind: Kind) -> usize {
    (address << KIND_BITS) | kind as usize
}

/// The value of an object whose memory has been freed.
pub(crate) const GONE: u32 = u32::MAX;

/// Blocks larger than this are looked for by entry instead of by address, in bytes.
const LARGE: usize = 256;

#[derive(Clone, Copy, Default)]
struct Entry {
    key: usize,
    epoch: u32,
    value: u32,
}

/// The map. Keys are addresses, with the lowest bits free to tell kinds apart.
pub(crate) struct AddressMap {
    /// A power of two, and one more that is always free.
    entries: Box<[Entry]>,
    /// That power of two, less 1.
    mask: usize,
    used: usize,
    epoch: u32,
    /// Every object's address is a multiple of this power of two.
    stride: usize,
    /// Where there are objects: see [`lines`].
    lines: u64,
    /// Which kinds there are, a bit for each.
    kinds: u8,
}

impl std::fmt::Debug for AddressMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddressMap").field("used", &self.used).finish_non_exhaustive()
    }
}

const FIRST_BITS: u32 = 8;
const MAX_STRIDE: usize = 16;
/// Binary logarithm of the granularity, in bytes, at which objects are looked for before a block is searched.
const LINE: u32 = 4;

/// Where a block may hold something, as bits: a bit stands for many places, so that one word says of most blocks that
/// nothing which has been entered is in them. `None`: the block is too large for that.
#[inline]
pub(crate) const fn lines(start: usize, size: usize) -> Option<u64> {
    let (first, last) = (start >> LINE, (start + size.saturating_sub(1)) >> LINE);
    // As many bits as there are lines, from the first one's on.
    if last - first > 32 { None } else { Some((u64::MAX >> (63 - (last - first))).rotate_left(first as u32)) }
}

fn free(count: usize) -> Box<[Entry]> {
    vec![Entry::default(); count + 1].into()
}

impl AddressMap {
    pub(crate) fn new() -> Self {
        AddressMap {
            entries: free(1 << FIRST_BITS),
            mask: (1 << FIRST_BITS) - 1,
            used: 0,
            epoch: 0,
            stride: MAX_STRIDE,
            lines: 0,
            kinds: 0,
        }
    }

    /// A new execution begins: nothing is known. Epochs are never zero and never come back.
    pub(crate) fn begin(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.used = 0;
        self.stride = MAX_STRIDE;
        self.lines = 0;
        self.kinds = 0;
    }

    #[inline]
    fn slot(&self, key: usize) -> usize {
        // The bits in the middle depend on all lower ones.
        ((key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize & self.mask
    }

    /// The object at this key.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> Option<u32> {
        let mut index = self.slot(key);
        loop {
            let entry = &self.entries[index & self.mask];
            if entry.epoch != self.epoch {
                return None;
            }
            if entry.key == key {
                return Some(entry.value);
            }
            index += 1;
        }
    }

    /// [`get`](Self::get), if the first two places say it; else `None`.
    #[inline(always)]
    pub(crate) fn get_soon(&self, key: usize) -> Option<u32> {
        let index = self.slot(key);
        for index in [index, index + 1] {
            // SAFETY: a slot is at most `mask`, and there is one entry more than that.
            let entry = unsafe { self.entries.get_unchecked(index) };
            if entry.epoch != self.epoch {
                return None;
            }
            if entry.key == key {
                return Some(entry.value);
            }
        }
        None
    }

    /// Enters an object.
    #[cold]
    pub(crate) fn insert(&mut self, key: usize, value: u32) {
        let address = key >> KIND_BITS;
        self.stride = self.stride.min(1 << address.trailing_zeros().min(8));
        self.lines |= lines(address, 1).unwrap_or(u64::MAX);
        self.kinds |= 1 << (key & ((1 << KIND_BITS) - 1));
        if (self.used + 1) * 2 > self.mask + 1 {
            self.grow();
        }
        let mut index = self.slot(key);
        loop {
            let entry = &mut self.entries[index & self.mask];
            if entry.epoch != self.epoch {
                *entry = Entry { key, epoch: self.epoch, value };
                self.used += 1;
                return;
            }
            if entry.key == key {
                entry.value = value;
                return;
            }
            index += 1;
        }
    }

    /// The memory of a block is freed: whatever objects are in it are gone, and are told.
    pub(crate) fn forget_block(&mut self, start: usize, size: usize, gone: &mut Vec<u32>) {
        if lines(start, size).is_some_and(|lines| self.lines & lines == 0) {
            return;
        }
        if size > LARGE {
            let epoch = self.epoch;
            let inside = |entry: &&mut Entry| {
                entry.epoch == epoch && (start..start + size).contains(&(entry.key >> KIND_BITS))
            };
            let alive = self.entries.iter_mut().filter(inside).filter(|entry| entry.value != GONE);
            gone.extend(alive.map(|entry| std::mem::replace(&mut entry.value, GONE)));
            return;
        }
        for address in (start..start + size).step_by(self.stride) {
            let mut kinds = self.kinds;
            while kinds != 0 {
                let key = address << KIND_BITS | kinds.trailing_zeros() as usize;
                kinds &= kinds - 1;
                if let Some(object) = self.get(key).filter(|&object| object != GONE) {
                    gone.push(object);
                    self.insert(key, GONE);
                }
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let count = (self.mask + 1) * 2;
        let old = std::mem::replace(&mut self.entries, free(count));
        self.mask = count - 1;
        self.used = 0;
        let epoch = self.epoch;
        for entry in old.into_iter().filter(|entry| entry.epoch == epoch) {
            self.insert(entry.key, entry.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_live_for_one_epoch() {
        let mut map = AddressMap::new();
        for epoch in 1..4 {
            map.begin(epoch);
            for key in 0..1000 {
                assert_eq!(map.get(key * 8), None);
                map.insert(key * 8, key as u32);
            }
            for key in 0..1000 {
                assert_eq!(map.get(key * 8), Some(key as u32));
            }
        }
    }

    #[test]
    fn a_freed_block_takes_its_objects_along() {
        for (size, others) in [(64, 0), (4096, 0), (64, 20), (4096, 20)] {
            let mut map = AddressMap::new();
            map.begin(1);
            (0..others).for_each(|other| map.insert(key(100_000 + other * 8, Kind::Cell), 9));
            map.insert(key(1000, Kind::Atomic), 1);
            map.insert(key(1008, Kind::Cell), 2);
            map.insert(key(1000 + size, Kind::Atomic), 3);
            let mut gone = Vec::new();
            map.forget_block(1000, size, &mut gone);
            gone.sort_unstable();
            assert_eq!(gone, [1, 2]);
            assert_eq!(map.get(key(1000, Kind::Atomic)), Some(GONE));
            assert_eq!(map.get(key(1008, Kind::Cell)), Some(GONE));
            assert_eq!(map.get(key(1000 + size, Kind::Atomic)), Some(3));
        }
    }
}
