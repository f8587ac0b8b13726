//! What the running execution has made in the file system. Where it is stopped half-way nobody removes what the test would have removed in the end (a temporary directory, where
//! threads cannot be unwound); the next execution, which goes by the same random numbers and names, would find it. So it goes.

use crate::door::{self, OwnLock, Which};
use crate::files::{AT_FDCWD, AT_REMOVEDIR, Path, identity_at};
use crate::system::{self, system};
use ::std::ffi::{CStr, CString, OsStr, c_int};
use ::std::os::unix::ffi::{OsStrExt, OsStringExt};

struct Made {
    /// By executions on which threads of the system.
    all: Vec<(CString, Which, usize)>,
}

static MADE: OwnLock<Made> = OwnLock::new(Made { all: Vec::new() });

/// Something has been made there.
pub(crate) fn note(at: c_int, path: Path) {
    door::makes_files();
    let Some(which) = identity_at(at, path) else { return };
    door::aside(|| {
        // SAFETY: the path of a C function.
        let path = ::std::path::Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        let directory = match at {
            _ if path.is_absolute() => Ok(::std::path::PathBuf::new()),
            AT_FDCWD => ::std::env::current_dir(),
            directory => ::std::fs::read_link(format!("/proc/self/fd/{directory}")),
        };
        let Ok(directory) = directory else { return };
        let Ok(path) = CString::new(directory.join(path).into_os_string().into_vec()) else { return };
        let mut made = MADE.lock();
        let here = door::carrier();
        if made.all.iter().all(|(.., carrier)| *carrier != here) {
            door::on_execution_end(Box::new(forget));
        }
        made.all.push((path, which, here));
    });
}

fn forget() {
    door::aside(|| {
        let here = door::carrier();
        let all: Vec<_> = MADE.lock().all.extract_if(.., |(.., carrier)| *carrier == here).collect();
        if !door::was_stopped_half_way() {
            return;
        }
        for (path, which, _) in all.iter().rev() {
            // What stands there now may be something else, which was moved there.
            if identity_at(AT_FDCWD, path.as_ptr()) != Some(*which) {
                continue;
            }
            for flags in [0, AT_REMOVEDIR] {
                let (at, flags) = (AT_FDCWD as usize, flags as usize);
                // SAFETY: the path is there. A directory that is not empty stays.
                unsafe { system(system::UNLINKAT, at, path.as_ptr().addr(), flags, 0, 0, 0) };
            }
        }
    });
}
