//! The frontier: executions that are left for a higher bound, in a compact form.
//!
//! Executions are grouped by the execution they branch off from. A group holds that execution's decisions that are
//! not the default (the rest follows from the program) and, for each branch, the decision to change and the choice
//! to take there. Numbers are written as LEB128 varints, decision numbers as differences. A typical item takes two
//! or three bytes. If it is told to spill, what is more than a chunk goes to disk.

use super::spill::{Chunks, Spill};
use crate::varint::{Reader, write};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Items grouped by the execution they branch off from.
#[derive(Debug, Default)]
pub struct Frontier {
    /// Those that came first, on disk.
    chunks: Option<Chunks>,
    /// The others.
    bytes: Vec<u8>,
    item_count: u64,
}

/// Where the next group is read: so many chunks are read, and so many bytes of what comes then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    chunk: usize,
    at: usize,
}

/// One group, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Decisions that are not the default: number and choice.
    pub(super) deviations: Vec<(u32, u32)>,
    /// Digest of the places of the decisions up to the last deviation.
    pub(super) digest: u32,
    /// Branches: decision and choice.
    pub(super) branches: Vec<(u32, u32)>,
}

/// Why a stored frontier cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontierError {
    /// It is not a frontier file.
    #[error("this is not a frontier file; remove it to search from bound 0")]
    Magic,
    /// It was cut off or altered.
    #[error("the frontier file is damaged ({0}); remove it to search from bound 0")]
    Damaged(&'static str),
    /// It cannot be read.
    #[error("the frontier file cannot be read: {0}")]
    Unreadable(String),
    /// It belongs to something else.
    #[error(
        "the frontier file was written with other settings or by another test; remove it to search from bound 0"
    )]
    Foreign,
}

impl Frontier {
    /// An empty one, which spills there.
    #[must_use]
    pub fn spilling(spill: Option<&Arc<Spill>>) -> Self {
        Frontier { chunks: spill.map(|spill| Chunks::new(spill.clone())), ..Frontier::default() }
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.item_count
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.item_count == 0
    }

    /// Bytes of it in memory.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of it on disk.
    #[must_use]
    pub fn spilled_byte_count(&self) -> u64 {
        self.chunks.as_ref().map_or(0, Chunks::byte_count)
    }

    /// Adds a group. The branches must be in ascending order of decisions.
    pub(super) fn push(
        &mut self,
        deviations: impl Iterator<Item = (u32, u32)> + Clone,
        digest: u32,
        branches: impl Iterator<Item = (u32, u32)> + Clone,
    ) {
        self.write_pairs(deviations);
        self.bytes.extend_from_slice(&digest.to_le_bytes());
        self.item_count += self.write_pairs(branches);
        self.spill();
    }

    /// What is more than a chunk goes to disk. Chunks end between two groups.
    fn spill(&mut self) {
        if let Some(chunks) = &mut self.chunks
            && self.bytes.len() >= CHUNK
        {
            chunks.push(&self.bytes);
            self.bytes.clear();
        }
    }

    fn write_pairs(&mut self, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> u64 {
        let count = pairs.clone().count();
        self.write(count as u32);
        let mut previous = 0;
        for (index, option) in pairs {
            self.write(index - previous);
            self.write(option);
            previous = index;
        }
        count as u64
    }

    fn write(&mut self, value: u32) {
        write(&mut self.bytes, u64::from(value));
    }

    /// Reads the group at `position` and moves on to the next one. `None` at the end.
    pub(super) fn read(&mut self, position: &mut Position, group: &mut Group) -> Option<()> {
        if let Some(chunks) = &mut self.chunks {
            while let Some(chunk) = chunks.get(position.chunk) {
                if position.at < chunk.len() {
                    return read_group(chunk, &mut position.at, group);
                }
                *position = Position { chunk: position.chunk + 1, at: 0 };
            }
        }
        if position.at >= self.bytes.len() {
            return None;
        }
        read_group(&self.bytes, &mut position.at, group)
    }

    /// Writes the frontiers of one bound after another as a file: header with the key of what they belong to, the states reached so far,
    /// the items.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_file(
        frontiers: &mut [Frontier],
        file: impl Write,
        key: u64,
        states: &[u128],
    ) -> io::Result<()> {
        let mut file = Summed { inner: file, sum: Sum::default() };
        file.write_all(MAGIC)?;
        for number in [key, states.len() as u64, frontiers.len() as u64] {
            file.write_all(&number.to_le_bytes())?;
        }
        for state in states {
            file.write_all(&state.to_le_bytes())?;
        }
        for frontier in frontiers {
            frontier.write_items(&mut file)?;
        }
        let sum = file.sum.value();
        file.inner.write_all(&sum.to_le_bytes())?;
        file.inner.flush()
    }

    fn write_items(&mut self, file: &mut Summed<impl Write>) -> io::Result<()> {
        let byte_count = self.spilled_byte_count() + self.bytes.len() as u64;
        for number in [self.item_count, byte_count] {
            file.write_all(&number.to_le_bytes())?;
        }
        if let Some(chunks) = &mut self.chunks {
            let mut number = 0;
            while let Some(chunk) = chunks.get(number) {
                file.write_all(chunk)?;
                number += 1;
            }
        }
        file.write_all(&self.bytes)
    }

    /// Reads what [`write_file`](Self::write_file) wrote; `spill` says where they spill.
    ///
    /// # Errors
    /// If the file is no frontier, is damaged, belongs to another key, or cannot be read.
    pub fn read_file(
        file: impl Read,
        key: u64,
        spill: Option<&Arc<Spill>>,
    ) -> Result<(Vec<Self>, Vec<u128>), FrontierError> {
        let mut file = Summed { inner: file, sum: Sum::default() };
        let mut magic = [0; 8];
        if file.take(&mut magic).is_err() || magic != *MAGIC {
            return Err(FrontierError::Magic);
        }
        let [found, state_count, count] = [file.number()?, file.number()?, file.number()?];
        let mut states = Vec::new();
        for _ in 0..state_count {
            let mut state = [0; 16];
            file.take(&mut state)?;
            states.push(u128::from_le_bytes(state));
        }
        let mut frontiers = Vec::new();
        for _ in 0..count {
            frontiers.push(Frontier::read_items(&mut file, spill)?);
        }
        let sum = file.sum.value();
        if file.number()? != sum {
            return Err(FrontierError::Damaged("its checksum does not match"));
        }
        match file.take(&mut [0]) {
            Ok(()) => return Err(FrontierError::Damaged("its length is not the one it names")),
            Err(FrontierError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
        if found != key {
            return Err(FrontierError::Foreign);
        }
        Ok((frontiers, states))
    }

    fn read_items(
        file: &mut Summed<impl Read>,
        spill: Option<&Arc<Spill>>,
    ) -> Result<Frontier, FrontierError> {
        let [item_count, byte_count] = [file.number()?, file.number()?];
        let mut frontier = Frontier { item_count, ..Frontier::spilling(spill) };
        let mut left = byte_count;
        let (mut at, mut group) = (0, Group::default());
        while left > 0 {
            let start = frontier.bytes.len();
            let more = left.min(CHUNK as u64);
            frontier.bytes.resize(start + more as usize, 0);
            file.take(&mut frontier.bytes[start..])?;
            left -= more;
            if frontier.chunks.is_some() && left > 0 {
                // Up to the last group that is there as a whole.
                let mut end = at;
                while read_group(&frontier.bytes, &mut at, &mut group).is_some() {
                    end = at;
                }
                at = 0;
                let rest = frontier.bytes.split_off(end);
                frontier.spill();
                frontier.bytes.extend_from_slice(&rest);
            }
        }
        Ok(frontier)
    }
}

/// Reads the group at a place in some bytes. `None` where they end.
fn read_group(bytes: &[u8], at: &mut usize, group: &mut Group) -> Option<()> {
    let mut reader = Reader::new(bytes.get(*at..)?);
    read_pairs(&mut reader, &mut group.deviations)?;
    let digest = reader.take(4)?;
    group.digest = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
    read_pairs(&mut reader, &mut group.branches)?;
    *at = bytes.len() - reader.left();
    Some(())
}

fn read_pairs(reader: &mut Reader<'_>, pairs: &mut Vec<(u32, u32)>) -> Option<()> {
    let mut number = || reader.number().and_then(|number| u32::try_from(number).ok());
    pairs.clear();
    let count = number()?;
    let mut index: u32 = 0;
    for _ in 0..count {
        index = index.checked_add(number()?)?;
        pairs.push((index, number()?));
    }
    Some(())
}

/// So many bytes of a frontier are kept in memory, if it spills.
const CHUNK: usize = 8 << 20;

const MAGIC: &[u8; 8] = b"ICBFRN3\n";

/// FNV-1a over 64-bit words: guards against damage, not against malice.
#[derive(Default)]
struct Sum {
    hash: u64,
    /// Bytes of a word that is not whole.
    rest: [u8; 8],
    rest_length: usize,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.rest[self.rest_length] = byte;
            self.rest_length += 1;
            if self.rest_length == 8 {
                self.hash = mix(self.hash, u64::from_le_bytes(self.rest));
                (self.rest, self.rest_length) = ([0; 8], 0);
            }
        }
    }

    fn value(&self) -> u64 {
        mix(self.hash, u64::from_le_bytes(self.rest) ^ self.rest_length as u64)
    }
}

const fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ 0xCBF2_9CE4_8422_2325 ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
}

/// A file, and the checksum of what has been read from it or written to it.
struct Summed<F> {
    inner: F,
    sum: Sum,
}

impl<W: Write> Summed<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.inner.write_all(bytes)
    }
}

impl<R: Read> Summed<R> {
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), FrontierError> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => FrontierError::Damaged("it is too short"),
            _ => FrontierError::Unreadable(error.to_string()),
        })?;
        self.sum.add(bytes);
        Ok(())
    }

    fn number(&mut self) -> Result<u64, FrontierError> {
        let mut bytes = [0; 8];
        self.take(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> (Frontier, Vec<Group>) {
        let groups: Vec<Group> = (0..50u32)
            .map(|i| Group {
                deviations: (0..i % 4).map(|k| (k * 100 + i, k)).collect(),
                digest: i * 77,
                branches: (0..=i % 3).map(|k| (400 + k * 3000 + i, k * 200)).collect(),
            })
            .collect();
        let mut frontier = Frontier::default();
        for group in &groups {
            frontier.push(group.deviations.iter().copied(), group.digest, group.branches.iter().copied());
        }
        (frontier, groups)
    }

    fn groups_of(frontier: &mut Frontier) -> Vec<Group> {
        let (mut position, mut group) = (Position::default(), Group::default());
        std::iter::from_fn(|| frontier.read(&mut position, &mut group).map(|()| group.clone())).collect()
    }

    fn to_file(frontiers: &mut [Frontier], key: u64, states: &[u128]) -> Vec<u8> {
        let mut file = Vec::new();
        Frontier::write_file(frontiers, &mut file, key, states).unwrap();
        file
    }

    #[test]
    fn groups_come_back() {
        let (mut frontier, groups) = filled();
        assert_eq!(groups_of(&mut frontier), groups);
        assert_eq!(frontier.len(), groups.iter().map(|g| g.branches.len() as u64).sum::<u64>());
    }

    #[test]
    fn what_spills_comes_back() {
        let spill = Spill::new(&std::env::temp_dir(), Box::new(|message| panic!("{message}")));
        let mut frontier = Frontier::spilling(Some(&Arc::new(spill)));
        let group = |i: u32| Group {
            deviations: vec![(i, 1), (i + 200_000, 2)],
            digest: i,
            branches: vec![(300_000, i)],
        };
        let count = 2_000_000;
        for i in 0..count {
            let group = group(i);
            frontier.push(group.deviations.into_iter(), group.digest, group.branches.into_iter());
        }
        assert!(frontier.spilled_byte_count() > 3 * CHUNK as u64 && frontier.byte_count() < CHUNK);
        let check = |frontier: &mut Frontier| {
            let (mut position, mut found) = (Position::default(), Group::default());
            for i in 0..count {
                frontier.read(&mut position, &mut found).unwrap();
                assert_eq!(found, group(i));
            }
            assert_eq!(frontier.read(&mut position, &mut found), None);
        };
        check(&mut frontier);
        let file = to_file(std::slice::from_mut(&mut frontier), 9, &[7]);
        for spill in [None, frontier.chunks.as_ref().map(|chunks| chunks.spill())] {
            let (mut read, states) = Frontier::read_file(&file[..], 9, spill).unwrap();
            let mut read = read.pop().unwrap();
            assert_eq!(
                (states, read.len(), spill.is_some()),
                (vec![7], u64::from(count), read.byte_count() < 3 * CHUNK)
            );
            check(&mut read);
        }
    }

    #[test]
    fn where_nothing_can_be_kept_that_is_said() {
        let told = Arc::new(std::sync::Mutex::new(String::new()));
        let hears = told.clone();
        let file = std::env::current_exe().unwrap();
        let refuse = move |message: &str| *hears.lock().unwrap() = message.to_owned();
        let spill = Arc::new(Spill::new(&file, Box::new(refuse)));
        let mut frontier = Frontier::spilling(Some(&spill));
        let many = || (0..CHUNK as u32 / 2).map(|i| (i, 1));
        let pushed = std::panic::AssertUnwindSafe(|| frontier.push(many(), 0, many()));
        assert!(std::panic::catch_unwind(pushed).is_err());
        let told = told.lock().unwrap();
        assert!(told.starts_with("cannot keep what is left") && told.contains("make room"), "{told}");
    }

    #[test]
    fn files_round_trip_and_damage_is_seen() {
        let (frontier, groups) = filled();
        let mut frontiers = [frontier, Frontier::default(), filled().0];
        let file = to_file(&mut frontiers, 9, &[1, u128::MAX]);
        let read = |file: &[u8], key| Frontier::read_file(file, key, None);
        let (mut found, states) = read(&file, 9).unwrap();
        let found: Vec<Vec<Group>> = found.iter_mut().map(groups_of).collect();
        assert_eq!((found, states), (vec![groups.clone(), Vec::new(), groups], vec![1, u128::MAX]));
        assert_eq!(read(&file, 8).unwrap_err(), FrontierError::Foreign);
        assert_eq!(read(b"nonsense", 9).unwrap_err(), FrontierError::Magic);
        for cut in [12, 40, file.len() - 1] {
            assert!(matches!(read(&file[..cut], 9), Err(FrontierError::Damaged(_))), "{cut}");
        }
        assert!(matches!(read(&[&file[..], b"x"].concat(), 9), Err(FrontierError::Damaged(_))));
        for at in (8..file.len()).filter(|at| !(16..40).contains(at)) {
            let mut damaged = file.clone();
            damaged[at] ^= 4;
            assert!(read(&damaged, 9).is_err(), "{at}");
        }
        // Lengths: not read far beyond the end of the file.
        for at in 16..40 {
            let mut damaged = file.clone();
            damaged[at] ^= 4;
            assert!(read(&damaged, 9).is_err(), "{at}");
        }
    }
}
