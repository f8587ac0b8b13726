//! Cores that no test is using: bytes in a named pipe, which a test that has become long takes to run on more than one,
//! and gives back.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The pipe; it is removed in the end.
pub(crate) struct Tokens {
    path: PathBuf,
    pipe: Option<File>,
}

impl Tokens {
    /// Makes the pipe. Where that cannot be done there are no tokens, and each test has one core.
    pub(crate) fn new(directory: &Path) -> Tokens {
        let path = directory.join(format!("tokens-{}", std::process::id()));
        let _ = std::fs::create_dir_all(directory);
        let pipe = make(&path);
        Tokens { path, pipe }
    }

    /// Where it is, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.pipe.as_ref().map(|_| self.path.as_path())
    }

    /// A core is free.
    pub(crate) fn put(&self) {
        if let Some(mut pipe) = self.pipe.as_ref() {
            let _ = pipe.write(b"+");
        }
    }

    /// The core is needed again. A test that has it gives it back soon.
    pub(crate) fn take(&self) {
        if let Some(mut pipe) = self.pipe.as_ref() {
            let _ = pipe.read(&mut [0]);
        }
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn make(path: &Path) -> Option<File> {
    use std::fs::OpenOptions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    let _ = std::fs::remove_file(path);
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the name ends with a zero, and lives through the call.
    if unsafe { libc::mkfifo(name.as_ptr(), 0o600) } != 0 {
        return None;
    }
    // Both ends, so that it is never at its end; and without waiting for a byte.
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).ok()
}

#[cfg(not(unix))]
fn make(_: &Path) -> Option<File> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_can_be_taken_as_often_as_they_were_put() {
        let directory = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(directory.path());
        let mut other = make_reader(tokens.path().unwrap());
        let mut taken = || other.read(&mut [0]).is_ok();
        assert!(!taken());
        tokens.put();
        tokens.put();
        assert!(taken() && taken() && !taken());
        tokens.put();
        tokens.take();
        assert!(!taken());
    }

    fn make_reader(path: &Path) -> File {
        use std::fs::OpenOptions;
        use std::os::unix::fs::OpenOptionsExt;
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap()
    }
}
