//! What has been done of one bound, on disk: the items about in the order in which they were committed, and how far the long ones
//! have come, so that a process that is killed loses what it did in the last moments and nothing else.
//!
//! The file: a magic, the key of what it belongs to, then records: an item that is done, or what has been done of one. A last record that is cut off is what a killed process leaves, and is dropped; anything else that is wrong is
//! damage, and the file is left as it is.

use super::records::{RECORD_HEADER, read_record, record};
use crate::reduction::{Crew, Done, Item, Look, News, Wants};
use crate::varint::Reader;
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MAGIC: &[u8; 8] = b"ICBJRN2\n";
/// Bytes before the first record.
const HEADER: u64 = 16;
// What a record is, after the length and the checksums.
const DONE: u8 = 0;
const BEGUN: u8 = 1;
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
    /// Items of those that have been read, whose turn has not come.
    ahead: HashMap<u64, Box<Done>>,
    /// What has been done of others, as far as that was read.
    begun: HashMap<u64, Arc<[u8]>>,
    /// Items that are in the file, and have not been committed.
    told: HashSet<u64>,
    /// Where the records end.
    end: u64,
    file: File,
    buffer: Vec<u8>,
    written: Instant,
    /// The item that is committed next is in the file.
    repeats: bool,
    /// Items that have been offered while there were records left: whoever does items is not told of those that are done.
    held: Vec<(u64, Item)>,
    bound: Option<u32>,
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
        let doing = |error: io::Error| {
            format!(
                "cannot keep the journal {}: {error}; make room there, or name another directory with --target-dir",
                path.display()
            )
        };
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
            ahead: HashMap::new(),
            begun: HashMap::new(),
            told: HashSet::new(),
            end: HEADER,
            file,
            buffer: Vec::new(),
            written: Instant::now(),
            repeats: false,
            held: Vec::new(),
            bound: None,
        };
        if let Some(known) = &mut journal.known {
            known.seek(SeekFrom::Start(HEADER)).map_err(doing)?;
        } else {
            journal.listen();
        }
        Ok(journal)
    }

    /// From now on items can be done before their turn.
    fn listen(&mut self) {
        if let Some(crew) = &mut self.crew {
            crew.news(&mut |_, _| {});
        }
    }

    /// The item with this key, if it is in the file.
    fn recall(&mut self, key: u64) -> Result<Option<Box<Done>>, String> {
        if let Some(done) = self.ahead.remove(&key) {
            return Ok(Some(done));
        }
        while self.known.is_some() {
            match self.advance()? {
                Some((found, done)) if found == key => return Ok(Some(done)),
                Some((other, done)) => drop(self.ahead.insert(other, done)),
                None => {}
            }
        }
        Ok(None)
    }

    /// Reads the next record, if there is one: an item that is done.
    fn advance(&mut self) -> Result<Option<(u64, Box<Done>)>, String> {
        let Some(known) = &mut self.known else { return Ok(None) };
        let record = read_record(known).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => damaged(&self.path, &format!("after {} bytes, {error}", self.end)),
            _ => format!("cannot read the journal {}: {error}", self.path.display()),
        })?;
        let Some(content) = record else {
            // The rest, if there is any, is the beginning of a record.
            self.known = None;
            let cut = self.file.set_len(self.end).and_then(|()| self.file.seek(SeekFrom::Start(self.end)));
            cut.map_err(|error| format!("cannot go on with the journal {}: {error}", self.path.display()))?;
            self.listen();
            return Ok(None);
        };
        let bad = || damaged(&self.path, &format!("after {} bytes is no item", self.end));
        let mut reader = Reader::new(&content);
        let kind = reader.take(1).map(|kind| kind[0]);
        let key =
            reader.take(8).and_then(|key| key.try_into().ok()).map(u64::from_le_bytes).ok_or_else(bad)?;
        let read = match kind {
            Some(DONE) => {
                let done = Done::decode(&mut reader).filter(|_| reader.is_empty()).ok_or_else(bad)?;
                self.begun.remove(&key);
                Some((key, Box::new(done)))
            }
            Some(BEGUN) => {
                self.begun.insert(key, content[9..].into());
                None
            }
            _ => return Err(bad()),
        };
        self.end += (RECORD_HEADER + content.len()) as u64;
        Ok(read)
    }

    fn give_up(&self, message: &str) -> ! {
        (self.refuse)(message);
        panic!("icb: {message}");
    }

    fn write(&mut self) {
        if !self.buffer.is_empty() {
            // What cannot be written is done again after an interruption; the search itself does not need it.
            let _ = append_whole(&mut self.file, &self.buffer);
            self.buffer.clear();
        }
        self.written = Instant::now();
    }
}

impl Crew for Journal<'_> {
    fn wants(&mut self) -> Wants {
        self.crew.as_mut().map_or(Wants::Nothing, |crew| crew.wants())
    }

    fn does_everything(&self) -> bool {
        self.crew.as_ref().is_some_and(|crew| crew.does_everything())
    }

    fn offer(&mut self, bound: u32, items: &[(u64, Item)]) {
        self.bound = Some(bound);
        self.held.extend_from_slice(items);
        if self.known.is_none() {
            self.hand_on();
        }
    }

    fn found(&mut self, keys: &[u128]) {
        if let Some(crew) = &mut self.crew {
            crew.found(keys);
        }
    }

    fn look(&mut self, number: u64, item: &Item) -> Look {
        let reads = self.known.is_some();
        if reads || !self.ahead.is_empty() {
            let recalled = self.recall(item.key() as u64).unwrap_or_else(|message| self.give_up(&message));
            if let Some(done) = recalled {
                self.repeats = true;
                self.resting.store(true, Ordering::Relaxed);
                return Look::Done(done);
            }
        }
        self.resting.store(false, Ordering::Relaxed);
        if reads {
            self.hand_on();
        }
        self.note_news();
        if self.written.elapsed() >= BETWEEN_WRITES {
            self.write();
        }
        self.crew.as_mut().map_or(Look::Here, |crew| crew.look(number, item))
    }

    fn commit(&mut self, number: u64, item: &Item, done: &Done) {
        if std::mem::take(&mut self.repeats) {
            self.held.pop_if(|(held, _)| *held == number);
            if let Some(crew) = self.crew.as_mut().filter(|_| self.known.is_none()) {
                crew.commit(number, item, done);
            }
            return;
        }
        let key = item.key() as u64;
        if !self.told.remove(&key) {
            record(&mut self.buffer, DONE, key, |bytes| done.encode(bytes));
        }
        if self.buffer.len() >= MAX_BUFFER || self.written.elapsed() >= BETWEEN_WRITES {
            self.write();
        }
        if let Some(crew) = &mut self.crew {
            crew.commit(number, item, done);
        }
    }

    fn begun(&mut self, item: &Item) -> Option<Arc<[u8]>> {
        let of_crew = self.crew.as_mut().and_then(|crew| crew.begun(item));
        of_crew.or_else(|| self.begun.remove(&(item.key() as u64)))
    }

    fn save(&mut self, item: &Item, begun: &[u8]) {
        record(&mut self.buffer, BEGUN, item.key() as u64, |bytes| bytes.extend_from_slice(begun));
        self.note_news();
        self.write();
    }

    fn end(&mut self) {
        // What is left was done before its turn, and was not needed when that came: somebody else had left the same.
        self.known = None;
        self.ahead.clear();
        self.begun.clear();
    }

    fn dismiss(&mut self) {
        // What was done is of no use: the search begins anew.
        self.known = None;
        self.ahead.clear();
        self.begun.clear();
        self.told.clear();
        self.held.clear();
        self.bound = None;
        self.buffer.clear();
        self.end = HEADER;
        let _ = self.file.set_len(HEADER).and_then(|()| self.file.seek(SeekFrom::Start(HEADER)));
        if let Some(crew) = &mut self.crew {
            crew.dismiss();
        }
        self.listen();
    }
}

impl Journal<'_> {
    /// Offers the items that are not in the file to those who do them.
    fn hand_on(&mut self) {
        let (Some(crew), Some(bound)) = (&mut self.crew, self.bound.take()) else { return };
        let mut items = std::mem::take(&mut self.held);
        if !self.ahead.is_empty() {
            items.retain(|(_, item)| !self.ahead.contains_key(&(item.key() as u64)));
        }
        if !self.begun.is_empty() {
            for (_, item) in &mut items {
                if let Some(begun) = self.begun.get(&(item.key() as u64)) {
                    *item = item.clone().begun(begun.clone());
                }
            }
        }
        if !items.is_empty() {
            crew.offer(bound, &items);
        }
    }

    /// Puts down what has become of items before their turn.
    fn note_news(&mut self) {
        let Some(crew) = &mut self.crew else { return };
        let (buffer, told, ahead) = (&mut self.buffer, &mut self.told, &self.ahead);
        crew.news(&mut |key, news| match news {
            News::Done(_) if ahead.contains_key(&(key as u64)) => {}
            News::Done(done) => {
                told.insert(key as u64);
                record(buffer, DONE, key as u64, |bytes| done.encode(bytes));
            }
            News::Begun(begun) => {
                record(buffer, BEGUN, key as u64, |bytes| bytes.extend_from_slice(begun));
            }
        });
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        self.write();
    }
}

/// Writes bytes whole or not at all: of what a full disk takes the beginning only, nothing may stay before the records that it takes when there is
/// room again.
fn append_whole(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let end = file.stream_position()?;
    file.write_all(bytes).inspect_err(|_| {
        let _ = file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end)));
    })
}

fn damaged(path: &Path, how: &str) -> String {
    format!("the journal {} is damaged: {how}; remove it, or run without --resume", path.display())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    /// Set for the process that has the limit on the size of its files: a limit is for all threads, so for other tests as well.
    const ALONE: &str = "ICB_TEST_OF_FULL_DISKS";

    /// A disk that is full at a size, by the limit on the size of files.
    fn make_room(bytes: libc::rlim_t) {
        // SAFETY: `limit` is valid for reading and writing, and the signal is ignored, so that a write beyond the limit fails instead.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            let mut limit: libc::rlimit = std::mem::zeroed();
            libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit);
            limit.rlim_cur = bytes;
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
        }
    }

    #[test]
    fn what_a_full_disk_takes_half_of_does_not_stay() {
        if std::env::var_os(ALONE).is_none() {
            let name = "worker::journal::tests::what_a_full_disk_takes_half_of_does_not_stay";
            let mut again = Command::new(std::env::current_exe().unwrap());
            // Its output is not that of one more executable of tests.
            let output = again.args(["--exact", name]).env(ALONE, "1").output().unwrap();
            let has_run = String::from_utf8_lossy(&output.stdout).contains("1 passed");
            return assert!(output.status.success() && has_run, "{output:?}");
        }
        let path = std::env::temp_dir().join(format!("icb-journal-{}", std::process::id()));
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let mut file = options.unwrap();
        std::fs::remove_file(&path).unwrap();
        append_whole(&mut file, &[1; 100]).unwrap();
        make_room(150);
        assert!(append_whole(&mut file, &[2; 100]).is_err());
        append_whole(&mut file, &[3; 10]).unwrap();
        make_room(libc::RLIM_INFINITY);
        append_whole(&mut file, &[4; 100]).unwrap();
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut content)).unwrap();
        assert_eq!(content, [vec![1; 100], vec![3; 10], vec![4; 100]].concat());
    }
}
