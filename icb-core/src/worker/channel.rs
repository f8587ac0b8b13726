//! Messages to whoever started the process: lines appended to a file, so that they survive an abort.

use crate::trace::{CANNOT_TELL, CANNOT_TELL_EXIT, Message, encode};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The way out. Clones write to the same file.
#[derive(Clone, Debug, Default)]
pub(super) struct Channel {
    file: Option<Arc<Mutex<(File, PathBuf)>>>,
}

impl Channel {
    /// Appends to this file; without one, messages go nowhere.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Self::default()) };
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| format!("cannot write messages to {}: {error}", path.display()))?;
        Ok(Channel { file: Some(Arc::new(Mutex::new((file, path.to_owned())))) })
    }

    /// Whether somebody listens.
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Sends one message. If it cannot be written (the disk is full, say), the process ends, and its exit code says why: without it the
    /// listener would take what it does not know for what did not happen.
    pub(super) fn send(&self, message: &Message) {
        let Some(channel) = &self.file else { return };
        let line = encode(message) + "\n";
        let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, path) = &mut *channel;
        if let Err(error) = file.write_all(line.as_bytes()) {
            let _ = writeln!(std::io::stderr(), "\n{CANNOT_TELL}{}: {error}", path.display());
            std::process::exit(CANNOT_TELL_EXIT);
        }
    }
}
