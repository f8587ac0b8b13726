//! Names that what the facade is made of has written in assembly. Rust's own names say which crate they belong to; these do not, so a user's crate that
//! uses the same package (`corosensei`), in whatever version, would define them a second time, which no linker takes. In the libraries that were built
//! they are replaced by others of the same length. Knows no format of files: the names stand there as they are, in symbol tables and in metadata.

use crate::exit_code::Error;
use std::fs::{self, File};
use std::path::Path;

/// Names, or what they begin with, and what they become.
pub(super) const NAMES: [(&[u8], &[u8]); 2] = [
    (b"stack_init_trampoline", b"icb_s_init_trampoline"),
    (b"stack_call_trampoline", b"icb_s_call_trampoline"),
];

/// What all of them begin with.
const BEGIN: u8 = b's';

/// Replaces the names in all libraries of a directory. Files keep their times, by which cargo tells that they are as it made them.
pub(super) fn replace(directory: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "rlib" || extension == "rmeta") {
            replace_in(&path)
                .map_err(|error| Error::internal(format!("cannot change {}", path.display()), error))?;
        }
    }
    Ok(())
}

fn replace_in(path: &Path) -> std::io::Result<()> {
    let mut bytes = fs::read(path)?;
    let mut is_changed = false;
    for at in 0..bytes.len() {
        if bytes[at] != BEGIN {
            continue;
        }
        for (name, other) in NAMES {
            if bytes[at..].starts_with(name) {
                bytes[at..][..name.len()].copy_from_slice(other);
                is_changed = true;
            }
        }
    }
    if is_changed {
        let time = fs::metadata(path)?.modified()?;
        // Another file in the place of this one, which may be linked to elsewhere, or read by somebody.
        let new = path.with_extension("new");
        fs::write(&new, bytes)?;
        File::options().write(true).open(&new)?.set_modified(time)?;
        fs::rename(&new, path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_times_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lib.rlib");
        fs::write(&path, b"\0stack_init_trampoline_return\0stack_call_trampoline\0others\0").unwrap();
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        for _ in 0..2 {
            replace(directory.path()).unwrap();
            let expected = b"\0icb_s_init_trampoline_return\0icb_s_call_trampoline\0others\0";
            assert_eq!(fs::read(&path).unwrap(), expected);
            assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
        }
        assert!(NAMES.iter().all(|(name, other)| name.len() == other.len() && name[0] == BEGIN));
    }
}
