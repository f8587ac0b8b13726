//! Messages to whoever started the process: lines appended to a file, so that they survive an abort.

use crate::trace::{Message, encode};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The way out. Clones write to the same file.
#[derive(Clone, Debug, Default)]
pub(super) struct Channel {
    file: Option<Arc<Mutex<File>>>,
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
        Ok(Channel { file: Some(Arc::new(Mutex::new(file))) })
    }

    /// Whether somebody listens.
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Sends one message. A message that cannot be written is lost: the listener sees the process end without it.
    pub(super) fn send(&self, message: &Message) {
        if let Some(file) = &self.file {
            let line = encode(message) + "\n";
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = file.write_all(line.as_bytes());
        }
    }
}
