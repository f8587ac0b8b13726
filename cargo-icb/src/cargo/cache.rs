//! A directory outside the workspaces, for what is built once for all of them: the user's cache. Where there is none, or nothing can be written to it, the
//! target directory takes its place.

use super::metadata::Workspace;
use crate::cli::BuildArgs;
use crate::exit_code::Error;
use crate::report::notice;
use etcetera::BaseStrategy as _;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What nobody has used for so long is removed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Whoever uses an entry, or makes it, has locked this file in it. When it was used last, its time says.
const LOCK: &str = "lock";

/// A part of the cache that is locked.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) directory: PathBuf,
    lock: File,
}

impl Entry {
    /// The entry of this name, for reading: nobody writes to it now.
    pub(crate) fn open(workspace: &Workspace, options: &BuildArgs, name: &str) -> Result<Entry, Error> {
        let own = |_| Entry::within(&workspace.directory, name);
        match &options.cache_dir {
            Some(directory) => {
                let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
                Entry::within(&directory, name).map_err(|(path, error)| {
                    Error::Usage(format!(
                        "cannot use {} for the mirrored std: {error}; name another directory with --cache-dir, or let this one be written to",
                        path.display()
                    ))
                })
            }
            None => {
                let users = users_cache().ok_or(());
                let entry = users.and_then(|directory| Entry::within(&directory, name).map_err(|_| ()));
                entry.or_else(own).map_err(|(path, error)| Error::unwritable(&path, error))
            }
        }
    }

    fn within(directory: &Path, name: &str) -> Result<Entry, (PathBuf, std::io::Error)> {
        let directory = directory.join(name);
        let failed = |error| (directory.clone(), error);
        fs::create_dir_all(&directory).map_err(failed)?;
        // One that is there and cannot be written to would be of no use, be it locked or not.
        let lock = File::options().create(true).append(true).open(directory.join(LOCK)).map_err(failed)?;
        // It is no harm if it looks older than it is.
        let _ = lock.set_modified(SystemTime::now());
        let entry = Entry { directory: directory.clone(), lock };
        entry.wait(File::try_lock_shared, File::lock_shared).map_err(failed)?;
        Ok(entry)
    }

    /// From now on nobody else reads it.
    pub(crate) fn write(&self) -> Result<(), Error> {
        let locked = self.lock.unlock().and_then(|()| self.wait(File::try_lock, File::lock));
        locked.map_err(|error| Error::unwritable(&self.directory, error))
    }

    /// What has been written may be read by others.
    pub(crate) fn read(&self) -> Result<(), Error> {
        let locked = self.lock.unlock().and_then(|()| self.wait(File::try_lock_shared, File::lock_shared));
        locked.map_err(|error| Error::unwritable(&self.directory, error))
    }

    fn wait(
        &self,
        attempt: impl FnOnce(&File) -> Result<(), TryLockError>,
        wait: impl FnOnce(&File) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        match lock(&self.lock, &self.directory, attempt, wait) {
            // Where files cannot be locked, whoever writes relies on cargo's own care.
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(()),
            locked => locked,
        }
    }

    /// Removes the entries beside this one that nobody has used for long.
    pub(crate) fn remove_old_ones(&self) {
        let Some((directory, name)) = self.directory.parent().zip(self.directory.file_name()) else { return };
        let prefix = name.to_string_lossy();
        let Some((prefix, _)) = prefix.split_once('-') else { return };
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let is_like =
                entry.file_name().to_string_lossy().split_once('-').is_some_and(|(p, _)| p == prefix);
            if is_like && entry.file_name() != name {
                remove_if_old(&entry.path());
            }
        }
    }
}

/// Locks a file in one way or another, and says so if that takes waiting for another process that uses the directory.
pub(super) fn lock(
    file: &File,
    directory: &Path,
    attempt: impl FnOnce(&File) -> Result<(), TryLockError>,
    wait: impl FnOnce(&File) -> std::io::Result<()>,
) -> std::io::Result<()> {
    match attempt(file) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let directory = directory.display();
            notice::say(format_args!("Waiting for another `cargo icb` that uses {directory}"));
            wait(file)
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn remove_if_old(directory: &Path) {
    let used = |lock: &File| lock.metadata().and_then(|data| data.modified()).ok();
    let Ok(lock) = File::options().append(true).open(directory.join(LOCK)) else { return };
    let is_old = used(&lock).and_then(|time| time.elapsed().ok()).is_some_and(|age| age > KEPT);
    if is_old && lock.try_lock().is_ok() {
        // What is left of it is written anew by whoever needs it.
        let _ = fs::remove_dir_all(directory);
    }
}

/// Where programs of this user keep what can be made again.
fn users_cache() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("cargo-icb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_old_and_like_it_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - KEPT - Duration::from_secs(60);
        let entries = ["std-new", "std-old", "std-used", "std", "other-old", "std-own"].map(|name| {
            let directory = cache.path().join(name);
            fs::create_dir(&directory).unwrap();
            let lock = File::create(directory.join(LOCK)).unwrap();
            if name.ends_with("old") || name.ends_with("used") || name == "std" {
                lock.set_modified(old).unwrap();
            }
            lock
        });
        entries[2].lock_shared().unwrap();
        Entry::within(cache.path(), "std-own").unwrap().remove_old_ones();
        let mut left: Vec<_> =
            fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["other-old", "std", "std-new", "std-own", "std-used"]);
    }
}
