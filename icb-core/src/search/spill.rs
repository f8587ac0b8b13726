//! Bytes on disk that need not be in memory: chunks that are written once, and read in order. The file has no name any more while it is
//! used, so that it is gone when the process is, however that ends.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where to spill, and whom to tell if that cannot be done.
pub struct Spill {
    directory: PathBuf,
    refuse: Box<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Spill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spill").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Spill {
    /// Spills to files in this directory; `refuse` is told in one sentence why not, before the search panics with it.
    #[must_use]
    pub fn new(directory: &Path, refuse: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Spill { directory: directory.to_owned(), refuse }
    }

    fn open(&self) -> io::Result<File> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        std::fs::create_dir_all(&self.directory)?;
        let name = format!("spill-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = self.directory.join(name);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        // Where a file that is open cannot be removed, it stays until somebody removes the directory.
        let _ = remove_file(&path);
        Ok(file)
    }

    fn give_up(&self, doing: &str, error: &io::Error) -> ! {
        let message = format!(
            "cannot {doing} what is left for the next bound in {}: {error}; make room there, search to a lower bound, or use the default reduction, which \
             keeps little",
            self.directory.display()
        );
        (self.refuse)(&message);
        panic!("icb: {message}");
    }
}

/// Chunks of bytes on disk.
#[derive(Debug)]
pub(super) struct Chunks {
    spill: Arc<Spill>,
    file: Option<File>,
    /// Where each of them ends.
    ends: Vec<u64>,
    /// The one that was read last.
    loaded: Option<usize>,
    buffer: Vec<u8>,
}

impl Chunks {
    pub(super) fn new(spill: Arc<Spill>) -> Self {
        Chunks { spill, file: None, ends: Vec::new(), loaded: None, buffer: Vec::new() }
    }

    #[cfg(test)]
    pub(super) fn spill(&self) -> &Arc<Spill> {
        &self.spill
    }

    pub(super) fn byte_count(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Writes one more.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let end = self.byte_count();
        let written = self.file().and_then(|file| {
            file.seek(SeekFrom::Start(end))?;
            file.write_all(bytes)
        });
        if let Err(error) = written {
            self.spill.give_up("keep", &error);
        }
        self.ends.push(end + bytes.len() as u64);
    }

    /// The chunk with this number.
    pub(super) fn get(&mut self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        if self.loaded != Some(number) {
            let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.resize((end - start) as usize, 0);
            let read = self.file().and_then(|file| {
                file.seek(SeekFrom::Start(start))?;
                file.read_exact(&mut buffer)
            });
            if let Err(error) = read {
                self.spill.give_up("read", &error);
            }
            (self.buffer, self.loaded) = (buffer, Some(number));
        }
        Some(&self.buffer)
    }

    fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            self.file = Some(self.spill.open()?);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
