//! From an address to the number of the object that lives there in this execution.
//!
//! Open addressing with linear probing. An entry belongs to the execution whose epoch it carries; entries of earlier
//! executions count as free, so beginning an execution costs nothing.

#[derive(Clone, Copy, Default)]
struct Entry {
    key: usize,
    epoch: u32,
    value: u32,
}

/// The map. Keys are addresses, with the lowest bits free to tell kinds apart.
pub(crate) struct AddressMap {
    entries: Vec<Entry>,
    shift: u32,
    used: usize,
    epoch: u32,
}

impl std::fmt::Debug for AddressMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddressMap").field("used", &self.used).finish_non_exhaustive()
    }
}

const FIRST_BITS: u32 = 8;

impl AddressMap {
    pub(crate) fn new() -> Self {
        AddressMap { entries: vec![Entry::default(); 1 << FIRST_BITS], shift: usize::BITS - FIRST_BITS, used: 0, epoch: 0 }
    }

    /// A new execution begins: nothing is known. Epochs are never zero and never come back.
    pub(crate) fn begin(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.used = 0;
    }

    #[inline]
    fn slot(&self, key: usize) -> usize {
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15_usize) >> self.shift
    }

    /// The object at this key.
    #[inline]
    pub(crate) fn get(&self, key: usize) -> Option<u32> {
        let mask = self.entries.len() - 1;
        let mut index = self.slot(key);
        loop {
            let entry = &self.entries[index & mask];
            if entry.epoch != self.epoch {
                return None;
            }
            if entry.key == key {
                return (entry.value != u32::MAX).then_some(entry.value);
            }
            index += 1;
        }
    }

    /// Enters an object.
    #[cold]
    pub(crate) fn insert(&mut self, key: usize, value: u32) {
        if (self.used + 1) * 2 > self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        let mut index = self.slot(key);
        loop {
            let entry = &mut self.entries[index & mask];
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

    /// Forgets the object at this key: the next one there is another.
    pub(crate) fn remove(&mut self, key: usize) {
        if self.get(key).is_some() {
            self.insert(key, u32::MAX);
        }
    }

    fn grow(&mut self) {
        let size = self.entries.len() * 2;
        let old = std::mem::replace(&mut self.entries, vec![Entry::default(); size]);
        self.shift -= 1;
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
            map.remove(80);
            assert_eq!(map.get(80), None);
            map.insert(80, 7);
            assert_eq!(map.get(80), Some(7));
        }
    }
}
