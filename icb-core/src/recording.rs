//! What happened in one execution: the tape of its choices, in memory that may be shared with whoever watches over
//! the process, so that the choices survive an abort.
//!
//! Layout of the memory: 8 bytes magic, u32 model, u32 bound, u64 number of the execution, u64 length in records,
//! then the records, u32 each: bit 31 set for a branch (bits 0–29 index, bit 30 costly), else a step (bits 0–15
//! thread, bit 30 preemption, bit 29 early).

use crate::trace::{Schedule, ScheduleEntry, ThreadId};

/// First bytes of a flight recorder's file.
pub const MAGIC: [u8; 8] = *b"ICBFLY1\n";
/// Bytes before the first record.
pub const HEADER: usize = 32;

const BRANCH: u32 = 1 << 31;
const COSTLY: u32 = 1 << 30;
const EARLY: u32 = 1 << 29;
const THREAD: u32 = 0xFFFF;

/// The largest number of threads in one execution: thread numbers take 16 bits of a record.
pub const MAX_THREADS: usize = THREAD as usize;

/// The choices of the running execution.
pub struct Tape {
    memory: Memory,
    length: usize,
    capacity: usize,
}

enum Memory {
    Own(Box<[u8]>),
    Shared(memmap2::MmapMut),
}

impl Memory {
    #[inline]
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Memory::Own(bytes) => bytes,
            Memory::Shared(map) => map,
        }
    }
}

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
        let bytes = vec![0; Self::byte_count(capacity)].into_boxed_slice();
        Self::begin(Memory::Own(bytes), capacity)
    }

    /// A tape in mapped memory of at least [`byte_count`](Self::byte_count) bytes.
    #[must_use]
    pub fn mapped(map: memmap2::MmapMut) -> Self {
        let capacity = map.len().saturating_sub(HEADER) / 4;
        Self::begin(Memory::Shared(map), capacity)
    }

    fn begin(mut memory: Memory, capacity: usize) -> Self {
        memory.bytes()[..8].copy_from_slice(&MAGIC);
        Tape { memory, length: 0, capacity }
    }

    /// Says what is being run; shown if the process dies.
    pub fn label(&mut self, model: u32, bound: u32, execution: u64) {
        let bytes = self.memory.bytes();
        bytes[8..12].copy_from_slice(&model.to_le_bytes());
        bytes[12..16].copy_from_slice(&bound.to_le_bytes());
        bytes[16..24].copy_from_slice(&execution.to_le_bytes());
    }

    /// A new execution begins.
    pub fn clear(&mut self) {
        self.length = 0;
        self.write_length();
    }

    #[inline]
    fn write_length(&mut self) {
        let length = self.length as u64;
        self.memory.bytes()[24..32].copy_from_slice(&length.to_le_bytes());
    }

    #[inline]
    fn push(&mut self, record: u32) {
        if self.length < self.capacity {
            let at = HEADER + 4 * self.length;
            self.memory.bytes()[at..at + 4].copy_from_slice(&record.to_le_bytes());
            self.length += 1;
            self.write_length();
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
        let end = HEADER + 4 * self.length;
        let records = self.memory.bytes()[HEADER..end].chunks_exact(4);
        Schedule::new(records.map(|b| decode(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect())
    }
}

fn decode(record: u32) -> ScheduleEntry {
    if record & BRANCH != 0 {
        return ScheduleEntry::Branch { index: record & (EARLY - 1), costly: record & COSTLY != 0 };
    }
    ScheduleEntry::Run {
        thread: ThreadId::new((record & THREAD) as usize),
        preemption: record & COSTLY != 0,
        early: record & EARLY != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_gives_its_schedule_back() {
        let mut tape = Tape::new(8);
        tape.run(0, false, false);
        tape.run(0, false, false);
        tape.branch(2, false);
        tape.run(3, true, false);
        tape.run(1, false, true);
        assert_eq!(tape.schedule().to_string(), "icb1:0*2?2!3,1~");
        tape.clear();
        assert_eq!(tape.schedule(), Schedule::default());
        for _ in 0..20 {
            tape.run(1, false, false);
        }
        assert!(tape.is_full());
        assert_eq!(tape.schedule().step_count(), 8);
    }
}
