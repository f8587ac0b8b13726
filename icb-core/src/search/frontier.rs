//! The frontier: executions that are left for a higher bound, in a compact form.
//!
//! Executions are grouped by the execution they branch off from. A group holds that execution's decisions that are
//! not the default (the rest follows from the program) and, for each branch, the decision to change and the choice
//! to take there. Numbers are written as LEB128 varints, decision numbers as differences. A typical item takes two
//! or three bytes.

/// Items grouped by the execution they branch off from.
#[derive(Clone, Debug, Default)]
pub struct Frontier {
    bytes: Vec<u8>,
    item_count: u64,
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
    /// It belongs to something else.
    #[error(
        "the frontier file was written with other settings or by another test; remove it to search from bound 0"
    )]
    Foreign,
}

impl Frontier {
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

    /// Size in bytes.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
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

    fn write(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Reads the group at `position` and moves on to the next one. `None` at the end.
    pub(super) fn read(&self, position: &mut usize, group: &mut Group) -> Option<()> {
        if *position >= self.bytes.len() {
            return None;
        }
        self.read_pairs(position, &mut group.deviations)?;
        let digest = self.bytes.get(*position..*position + 4)?;
        group.digest = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        *position += 4;
        self.read_pairs(position, &mut group.branches)
    }

    fn read_pairs(&self, position: &mut usize, pairs: &mut Vec<(u32, u32)>) -> Option<()> {
        pairs.clear();
        let count = self.read_number(position)?;
        let mut index: u32 = 0;
        for _ in 0..count {
            index = index.checked_add(self.read_number(position)?)?;
            pairs.push((index, self.read_number(position)?));
        }
        Some(())
    }

    fn read_number(&self, position: &mut usize) -> Option<u32> {
        let mut value: u32 = 0;
        for shift in (0..35).step_by(7) {
            let byte = *self.bytes.get(*position)?;
            *position += 1;
            value |= u32::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The frontier as a file: header with the key of what it belongs to, the states reached so far, the items.
    #[must_use]
    pub fn to_file(&self, key: u64, states: &[u128]) -> Vec<u8> {
        let mut file = Vec::with_capacity(48 + states.len() * 16 + self.bytes.len());
        file.extend_from_slice(MAGIC);
        for number in [key, states.len() as u64, self.item_count, self.bytes.len() as u64] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        for state in states {
            file.extend_from_slice(&state.to_le_bytes());
        }
        file.extend_from_slice(&self.bytes);
        let checksum = checksum(&file);
        file.extend_from_slice(&checksum.to_le_bytes());
        file
    }

    /// Reads what [`to_file`](Self::to_file) wrote.
    ///
    /// # Errors
    /// If the file is no frontier, is damaged, or belongs to another key.
    pub fn from_file(file: &[u8], key: u64) -> Result<(Self, Vec<u128>), FrontierError> {
        if !file.starts_with(MAGIC) {
            return Err(FrontierError::Magic);
        }
        let number = |at: usize| {
            let bytes = file.get(at..at + 8).and_then(|b| b.try_into().ok());
            bytes.map(u64::from_le_bytes).ok_or(FrontierError::Damaged("it is too short"))
        };
        let (found, state_count, item_count, byte_count) =
            (number(8)?, number(16)?, number(24)?, number(32)?);
        let states_end = (state_count as usize).checked_mul(16).and_then(|n| n.checked_add(40));
        let items_end = states_end.and_then(|n| n.checked_add(byte_count as usize));
        let (Some(states_end), Some(items_end)) = (states_end, items_end) else {
            return Err(FrontierError::Damaged("impossible lengths"));
        };
        if file.len() != items_end + 8 {
            return Err(FrontierError::Damaged("its length is not the one it names"));
        }
        if number(items_end)? != checksum(&file[..items_end]) {
            return Err(FrontierError::Damaged("its checksum does not match"));
        }
        if found != key {
            return Err(FrontierError::Foreign);
        }
        let states = file[40..states_end].chunks_exact(16);
        let states = states.map(|b| u128::from_le_bytes(std::array::from_fn(|i| b[i]))).collect();
        Ok((Frontier { bytes: file[states_end..items_end].to_vec(), item_count }, states))
    }
}

const MAGIC: &[u8; 8] = b"ICBFRN1\n";

/// FNV-1a over 64-bit words: guards against damage, not against malice.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xCBF2_9CE4_8422_2325, |hash, chunk| {
        let word = chunk.iter().rev().fold(0u64, |word, &byte| (word << 8) | u64::from(byte));
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
    })
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

    fn groups_of(frontier: &Frontier) -> Vec<Group> {
        let (mut position, mut group) = (0, Group::default());
        std::iter::from_fn(|| frontier.read(&mut position, &mut group).map(|()| group.clone())).collect()
    }

    #[test]
    fn groups_come_back() {
        let (frontier, groups) = filled();
        assert_eq!(groups_of(&frontier), groups);
        assert_eq!(frontier.len(), groups.iter().map(|g| g.branches.len() as u64).sum::<u64>());
    }

    #[test]
    fn files_round_trip_and_damage_is_seen() {
        let (frontier, groups) = filled();
        let file = frontier.to_file(9, &[1, u128::MAX]);
        let (read, states) = Frontier::from_file(&file, 9).unwrap();
        assert_eq!((groups_of(&read), states), (groups, vec![1, u128::MAX]));
        assert_eq!(Frontier::from_file(&file, 8).unwrap_err(), FrontierError::Foreign);
        assert_eq!(Frontier::from_file(b"nonsense", 9).unwrap_err(), FrontierError::Magic);
        for cut in [12, 40, file.len() - 1] {
            assert!(matches!(Frontier::from_file(&file[..cut], 9), Err(FrontierError::Damaged(_))), "{cut}");
        }
        for at in 8..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 4;
            assert!(Frontier::from_file(&damaged, 9).is_err(), "{at}");
        }
    }
}
