//! What the system says of a file, open or with a path. Knows nothing of executions.

use crate::system::{self, system};
use ::std::ffi::{c_char, c_int};

const S_IFMT: u64 = 0o170_000;
const S_IFREG: u64 = 0o100_000;
const S_IFIFO: u64 = 0o010_000;

/// Device and number of a file; zeros for one that is not there.
pub(crate) type Identity = [u64; 2];

/// The status of a file: 144 bytes at most, of which device and number come first.
pub(crate) struct Status([u64; 18]);

impl Status {
    /// Of an open file, if it is one.
    pub(crate) fn of(file: c_int) -> Option<Status> {
        let mut status = Status([0; 18]);
        // SAFETY: there is room for a file's status.
        let result =
            unsafe { system(system::FSTAT, file as usize, status.0.as_mut_ptr().addr(), 0, 0, 0, 0) };
        (result == 0).then_some(status)
    }

    /// Of what has this path in that directory, with the flags of `fstatat(2)`.
    pub(crate) fn at(directory: c_int, path: *const c_char, flags: c_int) -> Option<Status> {
        let mut status = Status([0; 18]);
        let (directory, flags) = (directory as usize, flags as usize);
        // SAFETY: there is room for a file's status; the path is the caller's, who hands it to the system as well.
        let result = unsafe {
            system(system::FSTATAT, directory, path.addr(), status.0.as_mut_ptr().addr(), flags, 0, 0)
        };
        (result == 0).then_some(status)
    }

    pub(crate) fn identity(&self) -> Identity {
        let [device, number, ..] = self.0;
        [device, number]
    }

    pub(crate) fn is_regular(&self) -> bool {
        self.kind() == S_IFREG
    }

    pub(crate) fn is_pipe(&self) -> bool {
        self.kind() == S_IFIFO
    }

    /// The mode stands behind the count of links, or before it.
    fn kind(&self) -> u64 {
        let mode = if cfg!(target_arch = "x86_64") { self.0[3] } else { self.0[2] };
        mode & S_IFMT
    }
}

/// Which file an open one is.
pub(crate) fn identity(file: c_int) -> Identity {
    Status::of(file).map_or([0, 0], |status| status.identity())
}

/// Whether an open file is a pipe.
pub(crate) fn is_pipe(file: c_int) -> bool {
    Status::of(file).is_some_and(|status| status.is_pipe())
}
