//! From an address to the number of the object that lives there in this execution.
//!
//! Open addressing with linear probing. An entry belongs to the execution whose epoch it carries; entries of earlier
//! executions count as free, so beginning an execution costs nothing.

use crate::trace::ObjectId;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A table with addresses for keys. (What every step looks for is in an [`AddressMap`].)
pub(crate) type ByAddress<T> = HashMap<usize, T, BuildHasherDefault<Spread>>;

/// Addresses of code.
pub(crate) type Places = HashSet<usize, BuildHasherDefault<Spread>>;

/// Binary logarithm of the bits that a set of watched places has beside it.
const FILTER_BITS: u32 = 13;

/// Addresses of code, looked for again and again where they mostly are not: a bit for each, which many share, says so of most others.
#[derive(Clone, Debug)]
pub(crate) struct WatchedPlaces {
    places: Places,
    filter: Box<[u64; 1 << (FILTER_BITS - u64::BITS.ilog2())]>,
}

impl Default for WatchedPlaces {
    fn default() -> Self {
        WatchedPlaces {
            places: Places::default(),
            filter: Box::new([0; 1 << (FILTER_BITS - u64::BITS.ilog2())]),
        }
    }
}

impl WatchedPlaces {
    /// The word and the bit of a place.
    #[inline]
    const fn bit(place: usize) -> (usize, u64) {
        let bit = (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - FILTER_BITS);
        ((bit >> u64::BITS.ilog2()) as usize, 1 << (bit % u64::BITS as u64))
    }

    #[inline]
    pub(crate) fn contains(&self, place: usize) -> bool {
        let (word, bit) = Self::bit(place);
        self.filter[word] & bit != 0 && self.places.contains(&place)
    }

    /// `false`: it was there.
    pub(crate) fn insert(&mut self, place: usize) -> bool {
        let (word, bit) = Self::bit(place);
        self.filter[word] |= bit;
        self.places.insert(place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.places.iter().copied()
    }
}

/// An address is spread over the bits of its hash.
#[derive(Default, Debug)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("an address is one word")
    }
    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64 >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

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

/// A bit beside the number of an object whose memory has been freed.
pub(crate) const GONE: u32 = 1 << 31;
/// A bit beside an atomic variable's number: its operations take the long way (see `mixed`).
pub(crate) const ASIDE: u32 = 1 << 30;

/// The object of a value, gone or not.
#[inline]
pub(crate) const fn object(value: u32) -> ObjectId {
    ObjectId::new((value & (ASIDE - 1)) as usize)
}

/// The object of a value, if its memory has not been freed.
#[inline]
pub(crate) fn alive(value: u32) -> Option<ObjectId> {
    (value & GONE == 0).then(|| object(value))
}

/// In the place of a kind in the entries that say where in a stretch of memory there are objects of one kind: a bit for each
/// granule.
const STRETCHES: usize = 5;
/// The key of an entry that is nobody's any more.
const NOBODYS: usize = usize::MAX;
/// Binary logarithms of the sizes of a stretch and of a granule, in bytes.
const STRETCH: u32 = GRANULE + u32::BITS.ilog2();
const GRANULE: u32 = 2;

/// The key of the stretch with this number, for objects of a kind.
#[inline]
const fn stretch_key(stretch: usize, kind: usize) -> usize {
    (((stretch << KIND_BITS) | kind) << KIND_BITS) | STRETCHES
}

/// The kind of a key.
#[inline]
const fn kind_of(key: usize) -> usize {
    key & ((1 << KIND_BITS) - 1)
}

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

    /// Where the entry of this key is.
    #[inline]
    fn index(&self, key: usize) -> Option<usize> {
        let mut index = self.slot(key);
        loop {
            let entry = &self.entries[index & self.mask];
            if entry.epoch != self.epoch {
                return None;
            }
            if entry.key == key {
                return Some(index & self.mask);
            }
            index += 1;
        }
    }

    /// The object at this key.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> Option<u32> {
        self.index(key).map(|index| self.entries[index].value)
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
        self.kinds |= 1 << kind_of(key);
        let granule = 1 << ((address >> GRANULE) % u32::BITS as usize);
        *self.entry(stretch_key(address >> STRETCH, kind_of(key)), 0) |= granule;
        *self.entry(key, value) = value;
    }

    /// The value of the key, which is entered with this one if it is not there.
    #[inline]
    fn entry(&mut self, key: usize, first: u32) -> &mut u32 {
        if (self.used + 1) * 2 > self.mask + 1 {
            self.grow();
        }
        let mut index = self.slot(key);
        while self.entries[index & self.mask].epoch == self.epoch
            && self.entries[index & self.mask].key != key
        {
            index += 1;
        }
        let entry = &mut self.entries[index & self.mask];
        if entry.epoch != self.epoch {
            *entry = Entry { key, epoch: self.epoch, value: first };
            self.used += 1;
        }
        &mut entry.value
    }

    /// The memory of a block is freed: whatever objects are in it are gone, and are told.
    pub(crate) fn forget_block(&mut self, start: usize, size: usize, gone: &mut Vec<u32>) {
        self.visit_block(start, size, |entry| {
            if entry.value & GONE == 0 {
                gone.push(entry.value);
                entry.value |= GONE;
            }
        });
    }

    /// The objects that are in a block.
    pub(crate) fn find_in_block(&mut self, start: usize, size: usize, found: &mut Vec<u32>) {
        self.visit_block(start, size, |entry| {
            if entry.value & GONE == 0 {
                found.push(entry.value);
            }
        });
    }

    /// A new block lies where one has been freed: objects that are gone are no longer known to have been there.
    pub(crate) fn renew_block(&mut self, start: usize, size: usize) {
        self.visit_block(start, size, |entry| {
            if entry.value & GONE != 0 {
                entry.key = NOBODYS;
            }
        });
    }

    /// The entries of the objects in a block.
    #[inline]
    fn visit_block(&mut self, start: usize, size: usize, mut visit: impl FnMut(&mut Entry)) {
        if size == 0 || lines(start, size).is_some_and(|lines| self.lines & lines == 0) {
            return;
        }
        let end = start + size;
        let stretches = (start >> STRETCH)..=((end - 1) >> STRETCH);
        if stretches.end() - stretches.start() > self.used {
            let epoch = self.epoch;
            let inside = |entry: &&mut Entry| {
                kind_of(entry.key) < STRETCHES
                    && entry.epoch == epoch
                    && (start..end).contains(&(entry.key >> KIND_BITS))
            };
            self.entries.iter_mut().filter(inside).for_each(visit);
            return;
        }
        let mut kinds = self.kinds;
        while kinds != 0 {
            let kind = kinds.trailing_zeros() as usize;
            kinds &= kinds - 1;
            for stretch in stretches.clone() {
                let mut granules = self.get(stretch_key(stretch, kind)).unwrap_or(0);
                while granules != 0 {
                    let granule = (stretch << STRETCH) + ((granules.trailing_zeros() as usize) << GRANULE);
                    granules &= granules - 1;
                    let mut address = granule;
                    while address < granule + (1 << GRANULE) {
                        if (start..end).contains(&address)
                            && let Some(index) = self.index(address << KIND_BITS | kind)
                        {
                            visit(&mut self.entries[index]);
                        }
                        address += self.stride;
                    }
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
            self.entry(entry.key, entry.value);
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
            assert_eq!(map.get(key(1000, Kind::Atomic)), Some(1 | GONE));
            assert_eq!(map.get(key(1008, Kind::Cell)), Some(2 | GONE));
            assert_eq!(map.get(key(1000 + size, Kind::Atomic)), Some(3));
        }
    }

    /// Wherever objects lie, also several at an address or in a granule, a block takes just its own along, once.
    #[test]
    fn blocks_of_all_sizes_take_along_what_is_in_them() {
        const KINDS: [Kind; 5] = [Kind::Atomic, Kind::Cell, Kind::Count, Kind::Memory, Kind::Object];
        let mut state = 7_u32;
        let mut some = |count: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % count
        };
        for epoch in 1..400 {
            let mut map = AddressMap::new();
            map.begin(epoch);
            let step = 1 << some(5);
            let mut alive: Vec<(usize, u32)> = Vec::new();
            let mut keys = HashMap::new();
            for value in 0..some(200) as u32 {
                let (address, kind) = (4096 + some(2000) / step * step, KINDS[some(5)]);
                if map.get(key(address, kind)).is_none() {
                    map.insert(key(address, kind), value);
                    alive.push((address, value));
                    keys.insert(value, key(address, kind));
                }
            }
            let mut next = 1000;
            for _ in 0..20 {
                let start = 4000 + some(2000);
                let size = [0, 1, some(64), some(400), some(3000)][some(5)];
                let mut gone = Vec::new();
                map.forget_block(start, size, &mut gone);
                gone.sort_unstable();
                let inside = |&(address, _): &(usize, u32)| (start..start + size).contains(&address);
                let mut expected: Vec<u32> =
                    alive.iter().filter(|at| inside(at)).map(|&(_, value)| value).collect();
                expected.sort_unstable();
                assert_eq!(gone, expected);
                alive.retain(|at| !inside(at));
                // A new block lies there, and other objects in it.
                if some(2) == 0 {
                    map.renew_block(start, size);
                    for value in gone {
                        let key = keys[&value];
                        assert_eq!(map.get(key), None);
                        if some(2) == 0 {
                            map.insert(key, next);
                            alive.push((key >> KIND_BITS, next));
                            keys.insert(next, key);
                            next += 1;
                        }
                    }
                }
                for &(_, value) in &alive {
                    assert_eq!(map.get(keys[&value]), Some(value));
                }
            }
        }
    }
}
