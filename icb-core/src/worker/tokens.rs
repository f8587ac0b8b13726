//! Leave to run: bytes in a named pipe, one for each core that no test is using. Who takes one gives it back.

use super::team::Tokens;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The pipe.
pub(super) struct Pipe(File);

impl Pipe {
    /// Opens it. Without it nobody is kept from running.
    pub(super) fn open(path: &Path) -> Option<Pipe> {
        // Both ends, so that it is never at its end; and without waiting for a byte.
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
        file.ok().map(Pipe)
    }
}

impl Tokens for Pipe {
    fn take(&self) -> bool {
        matches!((&self.0).read(&mut [0]), Ok(1))
    }

    fn give(&self) {
        // A pipe that is full holds more tokens than there are cores.
        let _ = (&self.0).write(b"+");
    }
}
