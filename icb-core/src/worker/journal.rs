//! What has been done of one bound, on disk: the items in the order in which they were committed, so that a process that is
//! killed loses what it did in the last moments and nothing else.
//!
//! The file: a magic, the key of what it belongs to, then records: length, checksum of the length, checksum of the content,
//! content. A last record that is cut off is what a killed process leaves, and is dropped; anything else that is wrong is
//! damage, and the file is left as it is.

use crate::reduction::{Crew, Done, Item, Look, Terms};
use crate::varint::Reader;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MAGIC: &[u8; 8] = b"ICBJRN1\n";
/// Bytes before the first record.
const HEADER: u64 = 16;
/// Bytes of a record before its content.
const RECORD_HEADER: usize = 16;
/// Records are written at least as often.
const BETWEEN_WRITES: Duration = Duration::from_millis(200);
/// And when there are so many bytes of them.
const MAX_BUFFER: usize = 1 << 20;

/// The journal of one bound, before those who do what is not in it.
pub(super) struct Journal<'a> {
    path: PathBuf,
    crew: Option<&'a mut dyn Crew>,
    /// Tells what is wrong with the file, before the process ends.
    refuse: &'a dyn Fn(&str),
    /// Set while nothing runs here, because it has been run before.
    resting: Arc<AtomicBool>,
    /// Records that have not been taken over yet.
    known: Option<BufReader<File>>,
    /// The next of them.
    next: Option<(u64, Box<Done>)>,
    /// Where they end.
    end: u64,
    file: File,
    buffer: Vec<u8>,
    written: Instant,
    /// The item that is committed next is in the file.
    repeats: bool,
    /// Items that have been offered while there were records left: whoever does items is not told of those that are done.
    held: Vec<(u64, Item)>,
    terms: Option<Terms>,
}

impl<'a> Journal<'a> {
    /// Opens the journal, and goes on where it ends.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub(super) fn open(
        path: &Path,
        key: u64,
        crew: Option<&'a mut dyn Crew>,
        refuse: &'a dyn Fn(&str),
        resting: Arc<AtomicBool>,
    ) -> Result<Self, String> {
        let doing = |error: io::Error| format!("cannot keep the journal {}: {error}", path.display());
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(doing)?;
        // Whoever had it before may be about to end.
        file.lock().map_err(doing)?;
        let length = file.metadata().map_err(doing)?.len();
        if length < HEADER {
            // Nothing had been done.
            file.set_len(0).map_err(doing)?;
            file.write_all(MAGIC).and_then(|()| file.write_all(&key.to_le_bytes())).map_err(doing)?;
        } else {
            let mut header = [0; HEADER as usize];
            file.read_exact(&mut header).map_err(doing)?;
            if !header.starts_with(MAGIC) {
                return Err(damaged(path, "it does not begin as a journal does"));
            }
            if header[8..] != key.to_le_bytes() {
                return Err(format!(
                    "the journal {} was written by another build of the test or with other settings; remove it, or run without --resume",
                    path.display()
                ));
            }
        }
        let known = (length > HEADER).then(|| File::open(path)).transpose().map_err(doing)?;
        let mut journal = Journal {
            path: path.to_owned(),
            crew,
            refuse,
            resting,
            known: known.map(|file| BufReader::with_capacity(1 << 18, file)),
            next: None,
            end: HEADER,
            file,
            buffer: Vec::new(),
            written: Instant::now(),
            repeats: false,
            held: Vec::new(),
            terms: None,
        };
        if let Some(known) = &mut journal.known {
            known.seek(SeekFrom::Start(HEADER)).map_err(doing)?;
            journal.advance()?;
        }
        Ok(journal)
    }

    /// Reads the next record.
    fn advance(&mut self) -> Result<(), String> {
        self.next = None;
        let Some(known) = &mut self.known else { return Ok(()) };
        let record = read_record(known).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => damaged(&self.path, &format!("after {} bytes, {error}", self.end)),
            _ => format!("cannot read the journal {}: {error}", self.path.display()),
        })?;
        if let Some(content) = record {
            let mut reader = Reader::new(&content);
            let key = reader.take(8).and_then(|key| key.try_into().ok()).map(u64::from_le_bytes);
            let done = Done::decode(&mut reader).filter(|_| reader.is_empty());
            let (Some(key), Some(done)) = (key, done) else {
                return Err(damaged(&self.path, &format!("after {} bytes is no item", self.end)));
            };
            self.end += (RECORD_HEADER + content.len()) as u64;
            self.next = Some((key, Box::new(done)));
            return Ok(());
        }
        // The rest, if there is any, is the beginning of a record.
        self.known = None;
        let cut = self.file.set_len(self.end).and_then(|()| self.file.seek(SeekFrom::Start(self.end)));
        cut.map(drop)
            .map_err(|error| format!("cannot go on with the journal {}: {error}", self.path.display()))
    }

    fn give_up(&self, message: &str) -> ! {
        (self.refuse)(message);
        panic!("icb: {message}");
    }

    fn write(&mut self) {
        if !self.buffer.is_empty() {
            // What cannot be written is done again after an interruption; the search itself does not need it.
            let _ = self.file.write_all(&self.buffer);
            self.buffer.clear();
        }
        self.written = Instant::now();
    }
}

impl Crew for Journal<'_> {
    fn offer(&mut self, terms: Terms, items: &[(u64, Item)]) {
        let Some(crew) = &mut self.crew else { return };
        if self.next.is_some() || !self.held.is_empty() {
            self.terms = Some(terms);
            self.held.extend_from_slice(items);
        } else {
            crew.offer(terms, items);
        }
    }

    fn look(&mut self, number: u64, item: &Item) -> Look {
        if let Some((key, done)) = self.next.take() {
            if key != item.key() as u64 {
                self.give_up(&damaged(&self.path, "it is the journal of another search"));
            }
            if let Err(message) = self.advance() {
                self.give_up(&message);
            }
            self.repeats = true;
            self.resting.store(true, Ordering::Relaxed);
            return Look::Done(done);
        }
        self.resting.store(false, Ordering::Relaxed);
        if self.written.elapsed() >= BETWEEN_WRITES {
            self.write();
        }
        if let (Some(crew), Some(terms)) = (&mut self.crew, self.terms.take()) {
            crew.offer(terms, &self.held);
            self.held.clear();
        }
        self.crew.as_mut().map_or(Look::Here, |crew| crew.look(number, item))
    }

    fn commit(&mut self, number: u64, item: &Item, done: &Done) {
        if std::mem::take(&mut self.repeats) {
            self.held.pop_if(|(held, _)| *held == number);
            return;
        }
        let start = self.buffer.len();
        self.buffer.resize(start + RECORD_HEADER, 0);
        self.buffer.extend_from_slice(&(item.key() as u64).to_le_bytes());
        done.encode(&mut self.buffer);
        let content = start + RECORD_HEADER;
        let length = ((self.buffer.len() - content) as u32).to_le_bytes();
        let sum = checksum(&self.buffer[content..]);
        self.buffer[start..start + 4].copy_from_slice(&length);
        self.buffer[start + 4..start + 8].copy_from_slice(&(checksum(&length) as u32).to_le_bytes());
        self.buffer[start + 8..content].copy_from_slice(&sum.to_le_bytes());
        if self.buffer.len() >= MAX_BUFFER || self.written.elapsed() >= BETWEEN_WRITES {
            self.write();
        }
        if let Some(crew) = &mut self.crew {
            crew.commit(number, item, done);
        }
    }

    fn dismiss(&mut self) {
        // What was done is of no use: the search begins anew.
        self.next = None;
        self.known = None;
        self.held.clear();
        self.terms = None;
        self.buffer.clear();
        self.end = HEADER;
        let _ = self.file.set_len(HEADER).and_then(|()| self.file.seek(SeekFrom::Start(HEADER)));
        if let Some(crew) = &mut self.crew {
            crew.dismiss();
        }
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        self.write();
    }
}

fn damaged(path: &Path, how: &str) -> String {
    format!("the journal {} is damaged: {how}; remove it, or run without --resume", path.display())
}

/// The content of the next record. `None`: the file ends, perhaps in the middle of a record.
fn read_record(file: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; RECORD_HEADER];
    if fill(file, &mut header)? < RECORD_HEADER {
        return Ok(None);
    }
    let (length, sums) = header.split_at(4);
    if sums[..4] != (checksum(length) as u32).to_le_bytes() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the length of a record is wrong"));
    }
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    let mut content = vec![0; length];
    if fill(file, &mut content)? < length {
        return Ok(None);
    }
    if sums[4..] != checksum(&content).to_le_bytes() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a record does not match"));
    }
    Ok(Some(content))
}

/// Reads as much as there is.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < bytes.len() {
        match file.read(&mut bytes[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// FNV-1a over 64-bit words: guards against damage, not against malice.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0xCBF2_9CE4_8422_2325, |hash, chunk| {
        let word = chunk.iter().rev().fold(0u64, |word, &byte| (word << 8) | u64::from(byte));
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
    })
}
