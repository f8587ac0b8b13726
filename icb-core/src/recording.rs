//! What happened in one execution: the tape of its choices, in memory that may be shared with whoever watches over
//! the process, so that the choices survive an abort.
//!
//! Layout of the memory: see [`flight`](crate::trace::flight).

use crate::trace::Schedule;
use crate::trace::flight::{BRANCH, COSTLY, EARLY, HEADER, MAGIC, THREAD, entry};
use std::ptr::NonNull;

/// The largest number of threads in one execution: thread numbers take 16 bits of a record.
pub const MAX_THREADS: usize = THREAD as usize;

/// The choices of the running execution.
pub struct Tape {
    /// Keeps the memory that `words` points to.
    _memory: Memory,
    /// The memory, as 32-bit words: the header's eight, then `capacity` records.
    words: NonNull<u32>,
    length: usize,
    capacity: usize,
}

#[expect(dead_code, reason = "the fields are there to be dropped")]
enum Memory {
    Own(Vec<u32>),
    Shared(memmap2::MmapMut),
}

/// Words before the first record.
const HEADER_WORDS: usize = HEADER / 4;
/// The word that holds the low half of the length. The high half stays 0.
const LENGTH_WORD: usize = 6;

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tape").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Tape {
    /// Bytes needed for `capacity` records.
    #[must_use]
    pub const fn byte_count(capacity: usize) -> usize {
        HEADER + 4 * capacity
    }

    /// A tape in ordinary memory.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let mut words = vec![0; HEADER_WORDS + capacity];
        let start = words.as_mut_ptr();
        Self::begin(Memory::Own(words), start, capacity)
    }

    /// A tape in mapped memory of at least [`byte_count`](Self::byte_count) bytes.
    ///
    /// # Panics
    /// If the mapping is smaller than the header.
    #[must_use]
    pub fn mapped(mut map: memmap2::MmapMut) -> Self {
        assert!(map.len() >= HEADER, "a tape needs {HEADER} bytes for its header");
        let capacity = (map.len() - HEADER) / 4;
        let start = map.as_mut_ptr().cast();
        Self::begin(Memory::Shared(map), start, capacity)
    }

    fn begin(memory: Memory, start: *mut u32, capacity: usize) -> Self {
        let Some(words) = NonNull::new(start) else { unreachable!("memory is not at null") };
        let mut tape = Tape { _memory: memory, words, length: 0, capacity };
        let [a, b, c, d, e, f, g, h] = MAGIC;
        let magic = [[a, b, c, d], [e, f, g, h]].map(u32::from_ne_bytes);
        tape.words()[..2].copy_from_slice(&magic);
        tape
    }

    #[inline]
    fn words(&mut self) -> &mut [u32] {
        // SAFETY: a vector of words, or a mapping, which begins at a page; with `capacity` words after the header's, owned by
        // `_memory`, which stays where it is when the tape is moved.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_ptr(), HEADER_WORDS + self.capacity) }
    }

    /// Says what is being run; shown if the process dies.
    pub fn label(&mut self, model: u32, bound: u32, execution: u64) {
        let label = [model, bound, execution as u32, (execution >> 32) as u32];
        self.words()[2..6].copy_from_slice(&label.map(u32::to_le));
    }

    /// A new execution begins.
    pub fn clear(&mut self) {
        self.length = 0;
        self.words()[LENGTH_WORD] = 0;
    }

    #[inline]
    fn push(&mut self, record: u32) {
        if self.length < self.capacity {
            // SAFETY: see `words`: there are `capacity` words after the header's.
            unsafe { self.words.add(HEADER_WORDS + self.length).write(record.to_le()) };
            self.length += 1;
            // SAFETY: as above; the word is one of the header's.
            unsafe { self.words.add(LENGTH_WORD).write((self.length as u32).to_le()) };
        }
    }

    /// Whether nothing more can be recorded.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.length >= self.capacity
    }

    /// A step is about to be taken.
    #[inline]
    pub fn run(&mut self, thread: usize, preemption: bool, early: bool) {
        let flags = if preemption { COSTLY } else { 0 } | if early { EARLY } else { 0 };
        self.push(thread as u32 | flags);
    }

    /// An outcome of the step has been chosen.
    pub fn branch(&mut self, index: u32, costly: bool) {
        self.push(BRANCH | if costly { COSTLY } else { 0 } | index);
    }

    /// The choices so far.
    #[must_use]
    pub fn schedule(&mut self) -> Schedule {
        let end = HEADER_WORDS + self.length;
        let records = &self.words()[HEADER_WORDS..end];
        Schedule::new(records.iter().map(|record| entry(u32::from_le(*record))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::flight::Flight;

    #[test]
    fn a_tape_gives_its_schedule_back() {
        let mut tape = Tape::new(8);
        tape.run(0, false, false);
        tape.run(0, false, false);
        tape.branch(2, false);
        tape.run(3, true, false);
        tape.run(1, false, true);
        assert_eq!(tape.schedule().to_string(), "icb1:0*2?2!3,1~");
        let bytes: Vec<u8> = tape.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(Flight::read(&mut &*bytes).map(|flight| flight.schedule), Some(tape.schedule()));
        assert_eq!(Flight::read(&mut &bytes[1..]), None);
        tape.clear();
        assert_eq!(tape.schedule(), Schedule::default());
        for _ in 0..20 {
            tape.run(1, false, false);
        }
        assert!(tape.is_full());
        assert_eq!(tape.schedule().step_count(), 8);
    }
}
