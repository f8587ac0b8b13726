//! Numbers as bytes, small ones as few: LEB128.

/// Appends a number.
pub fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads bytes from their beginning. `None` where they end too soon, or are no number.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads these.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes }
    }

    /// Nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.bytes.len()
    }

    /// The next number.
    pub fn number(&mut self) -> Option<u64> {
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The next number, as the length of something that is held in memory.
    pub fn length(&mut self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok()).filter(|&length| length < 1 << 32)
    }

    /// The next bytes as they are.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| write(&mut bytes, number));
        let mut reader = Reader::new(&bytes);
        assert!(numbers.iter().all(|&number| reader.number() == Some(number)));
        assert!(reader.is_empty() && reader.number().is_none());
    }
}
