//! Sets of threads: one word as long as there are no more than 64.

/// A set of threads. Up to 64 threads it is one word.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct ThreadSet {
    low: u64,
    high: Vec<u64>,
}

impl Clone for ThreadSet {
    fn clone(&self) -> Self {
        ThreadSet { low: self.low, high: self.high.clone() }
    }

    #[inline]
    fn clone_from(&mut self, source: &Self) {
        self.low = source.low;
        if !(self.high.is_empty() && source.high.is_empty()) {
            self.high.clone_from(&source.high);
        }
    }
}

impl ThreadSet {
    /// Threads that fit into one word.
    pub(crate) const WORD: usize = 64;

    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        ThreadSet { low: 0, high: Vec::new() }
    }

    /// Whether the thread is in the set.
    #[must_use]
    #[inline]
    pub fn contains(&self, thread: usize) -> bool {
        if thread < 64 {
            self.low & (1 << thread) != 0
        } else {
            self.high.get(thread / 64 - 1).is_some_and(|word| word & (1 << (thread % 64)) != 0)
        }
    }

    /// Adds a thread.
    #[inline]
    pub fn insert(&mut self, thread: usize) {
        if thread < 64 {
            self.low |= 1 << thread;
        } else {
            self.insert_high(thread);
        }
    }

    #[cold]
    fn insert_high(&mut self, thread: usize) {
        let word = thread / 64 - 1;
        if self.high.len() <= word {
            self.high.resize(word + 1, 0);
        }
        self.high[word] |= 1 << (thread % 64);
    }

    /// Takes a thread out.
    #[inline]
    pub fn remove(&mut self, thread: usize) {
        if thread < 64 {
            self.low &= !(1 << thread);
        } else {
            self.remove_high(thread);
        }
    }

    #[cold]
    fn remove_high(&mut self, thread: usize) {
        if let Some(word) = self.high.get_mut(thread / 64 - 1) {
            *word &= !(1 << (thread % 64));
            while self.high.last() == Some(&0) {
                self.high.pop();
            }
        }
    }

    /// Adds these of the first [`WORD`](Self::WORD) threads, a bit for each.
    #[inline]
    pub(crate) fn insert_all(&mut self, threads: u64) {
        self.low |= threads;
    }

    /// Takes these of the first [`WORD`](Self::WORD) threads out, a bit for each.
    #[inline]
    pub(crate) fn remove_all(&mut self, threads: u64) {
        self.low &= !threads;
    }

    /// Empties the set.
    #[inline]
    pub fn clear(&mut self) {
        self.low = 0;
        self.high.clear();
    }

    /// Whether there is nobody in it.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.low == 0 && self.high.is_empty()
    }

    /// Number of threads.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.low.count_ones() + self.high.iter().map(|word| word.count_ones()).sum::<u32>()) as usize
    }

    /// Whether exactly this thread is in the set.
    #[must_use]
    #[inline]
    pub fn is_only(&self, thread: usize) -> bool {
        if thread < 64 {
            self.low == 1 << thread && self.high.is_empty()
        } else {
            self.len() == 1 && self.contains(thread)
        }
    }

    /// Whether only these two threads, and members of the other set, are in it. Where there are many threads: `false`.
    #[inline]
    pub(crate) fn has_only(&self, one: usize, two: usize, other: &ThreadSet) -> bool {
        let word = if one < 64 && two < 64 { 1 << one | 1 << two } else { 0 };
        self.high.is_empty() && self.low & !(word | other.low) == 0
    }

    /// The set as one word, a bit for each thread: all of it, as long as there are no more than [`WORD`](Self::WORD)
    /// threads.
    #[must_use]
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        self.low
    }

    /// Whether every thread of this set is in the other one.
    #[must_use]
    #[inline]
    pub fn is_within(&self, other: &ThreadSet) -> bool {
        self.low & !other.low == 0
            && (self.high.is_empty() || self.iter().all(|thread| other.contains(thread)))
    }

    /// The threads, lowest first.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Threads<'_> {
        Threads { word: self.low, base: 0, high: &self.high }
    }

    /// The lowest thread.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<usize> {
        if self.low != 0 { Some(self.low.trailing_zeros() as usize) } else { self.iter().next() }
    }

    /// The lowest thread above this one.
    #[must_use]
    #[inline]
    pub fn next_after(&self, thread: usize) -> Option<usize> {
        if self.high.is_empty() {
            let above = if thread >= 63 { 0 } else { self.low & (u64::MAX << (thread + 1)) };
            return (above != 0).then(|| above.trailing_zeros() as usize);
        }
        self.iter().find(|&t| t > thread)
    }

    /// The first word of the set, a cheap digest of it.
    #[must_use]
    #[inline]
    pub fn digest(&self) -> u64 {
        if self.high.is_empty() {
            return self.low;
        }
        self.high.iter().fold(self.low, |digest, word| digest.rotate_left(7) ^ word)
    }
}

impl From<u64> for ThreadSet {
    /// The threads below 64 that have a bit in the word.
    fn from(low: u64) -> Self {
        ThreadSet { low, high: Vec::new() }
    }
}

impl<'a> IntoIterator for &'a ThreadSet {
    type Item = usize;
    type IntoIter = Threads<'a>;
    fn into_iter(self) -> Threads<'a> {
        self.iter()
    }
}

/// The threads of a set, lowest first.
#[derive(Clone, Debug)]
pub struct Threads<'a> {
    word: u64,
    base: usize,
    high: &'a [u64],
}

impl Iterator for Threads<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            let (&first, rest) = self.high.split_first()?;
            self.word = first;
            self.high = rest;
            self.base += 64;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.base + bit)
    }
}

impl FromIterator<usize> for ThreadSet {
    fn from_iter<I: IntoIterator<Item = usize>>(threads: I) -> Self {
        let mut set = ThreadSet::new();
        for thread in threads {
            set.insert(thread);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_sets_hold_any_number() {
        let members = [0, 5, 63, 64, 70, 200];
        let mut set: ThreadSet = members.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), members);
        assert_eq!(set.len(), 6);
        let fewer: ThreadSet = [5, 70].into_iter().collect();
        assert!(fewer.is_within(&set) && set.is_within(&set) && !set.is_within(&fewer));
        for member in members {
            assert!(set.contains(member));
            set.remove(member);
            assert!(!set.contains(member));
        }
        assert!(set.is_empty() && set == ThreadSet::new());
        set.insert(100);
        assert!(set.is_only(100) && !set.is_only(5) && set.first() == Some(100));
    }
}
