//! The flight recorder: the choices of the execution that a test process was in when it died.
//!
//! The process maps the file into its memory, so what it has written outlives it. Little-endian: the magic
//! (8 bytes), number of the model (u32), bound (u32), number of the execution (u64), number of records (u64),
//! records (u32 each). A record with bit 31 is a branch (bit 30: costly; the rest: its index), one without is a
//! step (bits 0–15: thread; bit 30: preemption; bit 29: early).

use icb_core::trace::{Schedule, ScheduleEntry, ThreadId};
use std::path::Path;

const MAGIC: &[u8; 8] = b"ICBFLY1\n";
const HEADER: usize = 32;

/// What was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Flight {
    /// Number of the model.
    pub(crate) model: u32,
    /// The bound that was searched.
    pub(crate) bound: u32,
    /// Number of the execution.
    pub(crate) execution: u64,
    /// Its choices so far.
    pub(crate) schedule: Schedule,
}

/// Reads the recording of a model, if the process has left one.
pub(crate) fn read(directory: &Path, model: u32) -> Option<Flight> {
    decode(&std::fs::read(directory.join(format!("flight-{model}"))).ok()?)
}

fn decode(bytes: &[u8]) -> Option<Flight> {
    let header = bytes.get(..HEADER)?;
    if header[..8] != MAGIC[..] {
        return None;
    }
    let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let length = usize::try_from(u64_at(24)?).ok()?;
    let records = bytes[HEADER..].as_chunks::<4>().0;
    let entries = records.iter().take(length).map(|record| entry(u32::from_le_bytes(*record))).collect();
    Some(Flight {
        model: u32_at(8)?,
        bound: u32_at(12)?,
        execution: u64_at(16)?,
        schedule: Schedule::new(entries),
    })
}

fn entry(record: u32) -> ScheduleEntry {
    let bit = |number: u32| record & (1 << number) != 0;
    if bit(31) {
        ScheduleEntry::Branch { index: record & 0x3fff_ffff, costly: bit(30) }
    } else {
        let thread = ThreadId::new((record & 0xffff) as usize);
        ScheduleEntry::Run { thread, preemption: bit(30), early: bit(29) }
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
        let flight = decode(&file(6, &records)).unwrap();
        assert_eq!((flight.model, flight.bound, flight.execution), (3, 2, 41));
        assert_eq!(flight.schedule.to_string(), "icb1:0*2!1?2?1!,0~");
    }

    #[test]
    fn damaged_recordings_give_what_they_hold_or_nothing() {
        assert_eq!(decode(&file(9, &[0, 0])).unwrap().schedule.step_count(), 2);
        assert_eq!(decode(&file(2, &[0, 0])[..20]), None);
        let mut other = file(1, &[0]);
        other[7] = b'2';
        assert_eq!(decode(&other), None);
    }
}
