//! The flight recorder: the choices of the execution that a test process was in when it died.
//!
//! The process maps the file into its memory, so what it has written outlives it. Little-endian: the magic
//! (8 bytes), number of the model (u32), bound (u32), number of the execution (u64), number of records (u64),
//! records (u32 each). A record with bit 31 is a branch (bits 0–29: its index; bit 30: costly), one without is a
//! step (bits 0–15: thread; bit 30: preemption; bit 29: early).

use super::{Schedule, ScheduleEntry, ThreadId};
use std::io::Read;

/// First bytes of a flight recorder's file.
pub const MAGIC: [u8; 8] = *b"ICBFLY1\n";
/// Bytes before the first record.
pub const HEADER: usize = 32;

/// Of a record: it is a branch.
pub const BRANCH: u32 = 1 << 31;
/// Of a record: a branch that costs something, or a step that is a preemption.
pub const COSTLY: u32 = 1 << 30;
/// Of a record: a step that is early.
pub const EARLY: u32 = 1 << 29;
/// Of a record: the thread of a step.
pub const THREAD: u32 = 0xFFFF;

/// What was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flight {
    /// Number of the model.
    pub model: u32,
    /// The bound that was searched.
    pub bound: u32,
    /// Number of the execution.
    pub execution: u64,
    /// Its choices so far.
    pub schedule: Schedule,
}

impl Flight {
    /// Reads a recording: of a damaged one what it holds, and nothing of what is none.
    pub fn read(file: &mut impl Read) -> Option<Flight> {
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        if header[..MAGIC.len()] != MAGIC {
            return None;
        }
        let u32_at = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let mut records = Vec::new();
        file.take(u64_at(24)?.saturating_mul(4)).read_to_end(&mut records).ok()?;
        let entries = records.as_chunks::<4>().0.iter().map(|record| entry(u32::from_le_bytes(*record)));
        Some(Flight {
            model: u32_at(8)?,
            bound: u32_at(12)?,
            execution: u64_at(16)?,
            schedule: Schedule::new(entries.collect()),
        })
    }
}

/// The choice that a record stands for.
#[must_use]
pub fn entry(record: u32) -> ScheduleEntry {
    if record & BRANCH != 0 {
        return ScheduleEntry::Branch { index: record & (COSTLY - 1), costly: record & COSTLY != 0 };
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

    fn file(length: u64, records: &[u32]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(2u32.to_le_bytes());
        bytes.extend(41u64.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(records.iter().flat_map(|record| record.to_le_bytes()));
        bytes
    }

    #[test]
    fn recordings_are_read() {
        let records = [0, 0, 1 | 1 << 30, 1 << 31 | 2, 1 << 31 | 1 << 30 | 1, 1 << 29, 7, 7];
        let flight = Flight::read(&mut &*file(6, &records)).unwrap();
        assert_eq!((flight.model, flight.bound, flight.execution), (3, 2, 41));
        assert_eq!(flight.schedule.to_string(), "icb1:0*2!1?2?1!,0~");
    }

    #[test]
    fn damaged_recordings_give_what_they_hold_or_nothing() {
        assert_eq!(Flight::read(&mut &*file(9, &[0, 0])).unwrap().schedule.step_count(), 2);
        assert_eq!(Flight::read(&mut &file(2, &[0, 0])[..20]), None);
        let mut other = file(1, &[0]);
        other[7] = b'2';
        assert_eq!(Flight::read(&mut &*other), None);
    }
}
