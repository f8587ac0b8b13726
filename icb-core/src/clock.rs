//! Vector clocks and epochs. A clock maps threads to the number of release points seen of them; threads that do
//! not occur count as 0. Clocks of up to [`INLINE`] threads need no allocation.

/// Threads whose entries are kept inline.
pub const INLINE: usize = 8;

/// A point in one thread's life: thread number and value of its own clock entry.
///
/// `Epoch::NONE` is before everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch {
    /// Thread number.
    pub thread: u32,
    /// Value of the thread's own entry; 0 only in [`Epoch::NONE`].
    pub time: u32,
}

impl Epoch {
    /// Before every point of every thread.
    pub const NONE: Epoch = Epoch { thread: 0, time: 0 };

    /// Whether everything at this point happens before a thread with this clock.
    #[must_use]
    #[inline]
    pub fn happens_before(self, clock: &VectorClock) -> bool {
        self.time <= clock.get(self.thread as usize)
    }
}

/// A vector clock (Lamport, Mattern; as used by FastTrack, Flanagan and Freund, PLDI 2009, §2).
#[derive(Debug, Default)]
pub struct VectorClock {
    inline: [u32; INLINE],
    /// Entries of threads from `INLINE` on; may be shorter than the number of threads.
    spill: Vec<u32>,
}

impl Clone for VectorClock {
    fn clone(&self) -> Self {
        VectorClock { inline: self.inline, spill: self.spill.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.inline = source.inline;
        if !(self.spill.is_empty() && source.spill.is_empty()) {
            self.spill.clone_from(&source.spill);
        }
    }
}

impl PartialEq for VectorClock {
    fn eq(&self, other: &Self) -> bool {
        self.le(other) && other.le(self)
    }
}

impl Eq for VectorClock {}

impl VectorClock {
    /// The clock that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        VectorClock { inline: [0; INLINE], spill: Vec::new() }
    }

    /// The entry of a thread.
    #[must_use]
    #[inline]
    pub fn get(&self, thread: usize) -> u32 {
        match self.inline.get(thread) {
            Some(&time) => time,
            None => self.spill.get(thread - INLINE).copied().unwrap_or(0),
        }
    }

    #[inline]
    fn entry(&mut self, thread: usize) -> &mut u32 {
        if thread < INLINE {
            return &mut self.inline[thread];
        }
        let index = thread - INLINE;
        if self.spill.len() <= index {
            self.spill.resize(index + 1, 0);
        }
        &mut self.spill[index]
    }

    /// Sets the entry of a thread.
    pub fn set(&mut self, thread: usize, time: u32) {
        *self.entry(thread) = time;
    }

    /// Sets the entry of a thread to what it is in `other`.
    #[inline(always)]
    pub fn set_as_in(&mut self, thread: usize, other: &VectorClock) {
        match (self.inline.get_mut(thread), other.inline.get(thread)) {
            (Some(mine), Some(&theirs)) => *mine = theirs,
            _ => self.set_spilled_as_in(thread, other),
        }
    }

    #[cold]
    fn set_spilled_as_in(&mut self, thread: usize, other: &VectorClock) {
        self.set(thread, other.get(thread));
    }

    /// Advances the entry of a thread by one.
    #[inline]
    pub fn tick(&mut self, thread: usize) {
        *self.entry(thread) += 1;
    }

    /// [`tick`](Self::tick) for one of the first [`INLINE`] threads.
    #[inline(always)]
    pub fn tick_inline(&mut self, thread: usize) {
        self.inline[thread] += 1;
    }

    /// Entry-wise maximum: afterwards this clock has seen what either has.
    #[inline]
    pub fn join(&mut self, other: &VectorClock) {
        self.join_inline(other);
        if !other.spill.is_empty() {
            self.join_spill(&other.spill);
        }
    }

    /// [`join`](Self::join), if `other` has entries for few threads; else nothing is done.
    #[inline(always)]
    pub fn join_few(&mut self, other: &VectorClock) -> bool {
        let few = other.spill.is_empty();
        if few {
            self.join_inline(other);
        }
        few
    }

    /// Copies this clock of a thread to `target` and advances the thread's entry, if there are few threads; else nothing is
    /// done.
    #[inline(always)]
    pub fn publish_few(&mut self, thread: usize, target: &mut VectorClock) -> bool {
        if thread >= INLINE || !self.spill.is_empty() || !target.spill.is_empty() {
            return false;
        }
        target.inline = self.inline;
        self.inline[thread] += 1;
        true
    }

    #[inline(always)]
    fn join_inline(&mut self, other: &VectorClock) {
        let (mine, theirs) = (self.inline, other.inline);
        // As signed numbers, which every processor compares four at a time; no clock comes near to 2³¹.
        self.inline = std::array::from_fn(|at| (mine[at] as i32).max(theirs[at] as i32) as u32);
    }

    #[cold]
    fn join_spill(&mut self, theirs: &[u32]) {
        if self.spill.len() < theirs.len() {
            self.spill.resize(theirs.len(), 0);
        }
        for (mine, theirs) in self.spill.iter_mut().zip(theirs) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether `other` has seen everything that this clock has.
    #[must_use]
    #[inline]
    pub fn le(&self, other: &VectorClock) -> bool {
        let (mine, theirs) = (&self.inline, &other.inline);
        // All of them, in a few instructions, instead of the first one.
        let beyond = (0..INLINE).fold(false, |beyond, at| beyond | (mine[at] > theirs[at]));
        !beyond && (self.spill.is_empty() || self.first_beyond(other).is_none())
    }

    /// The first thread of which this clock has seen more than `other`.
    #[must_use]
    pub fn first_beyond(&self, other: &VectorClock) -> Option<usize> {
        let all = INLINE + self.spill.len();
        (0..all).find(|&thread| self.get(thread) > other.get(thread))
    }

    /// The epoch of a thread whose clock this is.
    #[must_use]
    #[inline]
    pub fn epoch(&self, thread: usize) -> Epoch {
        Epoch { thread: thread as u32, time: self.get(thread) }
    }

    /// Forgets everything; keeps what is allocated.
    #[inline]
    pub fn clear(&mut self) {
        self.inline = [0; INLINE];
        self.spill.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks() -> Vec<VectorClock> {
        let mut state = 1u32;
        (0..60)
            .map(|i| {
                let mut clock = VectorClock::new();
                for thread in 0..(i % 14) {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    clock.set(thread, (state >> 24) % 4);
                }
                clock
            })
            .collect()
    }

    fn joined(a: &VectorClock, b: &VectorClock) -> VectorClock {
        let mut c = a.clone();
        c.join(b);
        c
    }

    #[test]
    fn join_is_a_lattice() {
        let all = clocks();
        for a in &all {
            assert_eq!(&joined(a, a), a);
            for b in &all {
                let ab = joined(a, b);
                assert_eq!(ab, joined(b, a));
                assert!(a.le(&ab) && b.le(&ab));
                assert_eq!(a.le(b), joined(a, b) == *b);
                for c in &all {
                    assert_eq!(joined(&ab, c), joined(a, &joined(b, c)));
                }
            }
        }
    }

    #[test]
    fn entries_beyond_the_inline_ones_count() {
        let mut a = VectorClock::new();
        a.tick(INLINE + 3);
        assert_eq!((a.get(INLINE + 3), a.get(INLINE + 9)), (1, 0));
        assert!(!a.le(&VectorClock::new()) && VectorClock::new().le(&a));
        assert!(!a.epoch(INLINE + 3).happens_before(&VectorClock::new()));
        a.clear();
        assert_eq!(a, VectorClock::new());
    }
}
