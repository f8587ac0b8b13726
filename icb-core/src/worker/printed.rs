//! What the program prints while one execution is recorded: it goes to a file, where whoever started the process finds it even if the
//! process dies of the execution.

use std::path::Path;

/// Both standard streams of the process go to a file as long as this lives.
#[derive(Debug)]
pub(super) struct Printed {
    #[cfg(unix)]
    before: [std::os::fd::OwnedFd; 2],
    #[cfg(unix)]
    file: std::fs::File,
}

#[cfg(unix)]
impl Printed {
    /// From now on what is printed goes to this file, which begins anew. `None`: it cannot be made.
    pub(super) fn to(path: &Path) -> Option<Printed> {
        use std::os::fd::{AsFd, AsRawFd};
        let _ = std::fs::remove_file(path);
        let file = std::fs::OpenOptions::new().append(true).create_new(true).open(path).ok()?;
        let before = [
            std::io::stdout().as_fd().try_clone_to_owned().ok()?,
            std::io::stderr().as_fd().try_clone_to_owned().ok()?,
        ];
        flush();
        for stream in STREAMS {
            lead(stream, file.as_raw_fd());
        }
        Some(Printed { before, file })
    }

    /// Says how many bytes have been printed. `None`: nobody knows.
    pub(super) fn length(&self) -> Option<impl FnMut() -> usize + 'static> {
        let file = self.file.try_clone().ok()?;
        Some(move || file.metadata().map_or(0, |metadata| metadata.len() as usize))
    }
}

#[cfg(unix)]
impl Drop for Printed {
    fn drop(&mut self) {
        use std::os::fd::AsRawFd;
        flush();
        for (stream, before) in STREAMS.into_iter().zip(&self.before) {
            lead(stream, before.as_raw_fd());
        }
    }
}

#[cfg(not(unix))]
impl Printed {
    /// Not on this system.
    pub(super) fn to(_: &Path) -> Option<Printed> {
        None
    }

    /// Not on this system.
    pub(super) fn length(&self) -> Option<impl FnMut() -> usize + 'static> {
        None::<fn() -> usize>
    }
}

#[cfg(unix)]
const STREAMS: [std::os::fd::RawFd; 2] = [libc::STDOUT_FILENO, libc::STDERR_FILENO];

#[cfg(unix)]
fn flush() {
    // What cannot be written now could not be written before either.
    let _ = std::io::Write::flush(&mut std::io::stdout());
}

/// From now on the stream leads where `to` does.
#[cfg(unix)]
fn lead(stream: std::os::fd::RawFd, to: std::os::fd::RawFd) {
    // SAFETY: `to` is open, and the stream's number is that of a standard stream, which nobody owns.
    unsafe { libc::dup2(to, stream) };
}
