//! Records of a journal as bytes: length, checksum of the length, checksum of the content, content. It does not know what they say.

use std::io::{self, Read};

/// Bytes of a record before its content.
pub(super) const RECORD_HEADER: usize = 16;

/// Appends a record.
pub(super) fn record(buffer: &mut Vec<u8>, kind: u8, key: u64, content: impl FnOnce(&mut Vec<u8>)) {
    let start = buffer.len();
    buffer.resize(start + RECORD_HEADER, 0);
    buffer.push(kind);
    buffer.extend_from_slice(&key.to_le_bytes());
    content(buffer);
    let body = start + RECORD_HEADER;
    let length = ((buffer.len() - body) as u32).to_le_bytes();
    let sum = checksum(&buffer[body..]);
    buffer[start..start + 4].copy_from_slice(&length);
    buffer[start + 4..start + 8].copy_from_slice(&(checksum(&length) as u32).to_le_bytes());
    buffer[start + 8..body].copy_from_slice(&sum.to_le_bytes());
}

/// The content of the next record. `None`: the file ends, perhaps in the middle of a record.
pub(super) fn read_record(file: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = Vec::with_capacity(RECORD_HEADER);
    if file.by_ref().take(RECORD_HEADER as u64).read_to_end(&mut header)? < RECORD_HEADER {
        return Ok(None);
    }
    let (length, sums) = header.split_at(4);
    if sums[..4] != (checksum(length) as u32).to_le_bytes() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the length of a record is wrong"));
    }
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    let mut content = Vec::with_capacity(length);
    if file.by_ref().take(length as u64).read_to_end(&mut content)? < length {
        return Ok(None);
    }
    if sums[4..] != checksum(&content).to_le_bytes() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a record does not match"));
    }
    Ok(Some(content))
}

/// FNV-1a over 64-bit words: guards against damage, not against malice.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xCBF2_9CE4_8422_2325, |hash, chunk| {
        let word = chunk.iter().rev().fold(0u64, |word, &byte| (word << 8) | u64::from(byte));
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
    })
}
