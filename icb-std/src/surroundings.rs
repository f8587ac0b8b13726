//! What threads share beside memory, as objects of the model: one for all directories, one for each file, one for the environment. Looking at one, or
//! changing it, is a step where the runtime has found that what some thread does there is ordered by nothing. Knows nothing of how programs get at them.

use crate::door::{self, Action, AtomicRef, AtomicType, Ordering, OwnLock, Surroundings, Which};
use ::std::mem;
use ::std::sync::atomic::{AtomicU64, Ordering as Real};

/// So many files of an execution are told apart; all others are one.
const MAX_FILES: usize = 256;

/// How often each has been changed in the running execution: the directories, the environment, files.
static CHANGES: [AtomicU64; 2 + MAX_FILES] = [const { AtomicU64::new(0) }; 2 + MAX_FILES];
static FILES: OwnLock<Files> = OwnLock::new(Files { known: [[0; 2]; MAX_FILES], count: 0, is_used: false });

/// The files that the running execution has come by, in this order. (Nothing here allocates: that would be the program's.)
struct Files {
    known: [Which; MAX_FILES],
    count: usize,
    /// It is known that all this is to be forgotten.
    is_used: bool,
}

static DIRECTORIES: AtomicType =
    AtomicType { size: size_of::<u64>(), name: Surroundings::Directories.name() };
static CONTENTS: AtomicType = AtomicType { size: size_of::<u64>(), name: Surroundings::Contents.name() };
static ENVIRONMENT: AtomicType =
    AtomicType { size: size_of::<u64>(), name: Surroundings::Environment.name() };

/// The calling thread is about to look at the directories, or to change them.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[track_caller]
pub(crate) fn directories(write: bool) {
    use_one(Surroundings::Directories, [0, 0], write);
}

/// The calling thread is about to look into this file, or to change it.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[track_caller]
pub(crate) fn contents(file: Which, write: bool) {
    use_one(Surroundings::Contents, file, write);
}

/// The calling thread is about to look at the environment or the current directory, or to change it.
#[track_caller]
pub(crate) fn environment(write: bool) {
    use_one(Surroundings::Environment, [0, 0], write);
}

#[inline]
#[track_caller]
fn use_one(what: Surroundings, which: Which, write: bool) {
    if door::surroundings_used(what, which, write) {
        take_step(what, which, write);
    }
}

#[cold]
#[track_caller]
fn take_step(what: Surroundings, which: Which, write: bool) {
    let (of, changes) = match what {
        Surroundings::Directories => (&DIRECTORIES, &CHANGES[0]),
        Surroundings::Environment => (&ENVIRONMENT, &CHANGES[1]),
        Surroundings::Contents => (&CONTENTS, &CHANGES[2 + number(which)]),
    };
    let target = AtomicRef { address: (&raw const *changes).cast(), of };
    forget_at_end();
    // What the system does for one thread and then for another is in this order for both.
    let action = match write {
        true => Action::ReadModifyWrite(Ordering::SeqCst),
        false => Action::Load(Ordering::SeqCst),
    };
    let Some(step) = door::atomic(target, action) else { return };
    let before = changes.load(Real::Relaxed);
    if write {
        changes.store(before + 1, Real::Relaxed);
        step.modified(Ordering::SeqCst, before, before + 1);
    } else {
        step.loaded(Ordering::SeqCst, before);
    }
}

/// A file's number in this execution.
fn number(file: Which) -> usize {
    let mut files = FILES.lock();
    let count = files.count;
    if let Some(known) = files.known[..count].iter().position(|known| *known == file) {
        return known;
    }
    if count == MAX_FILES {
        return MAX_FILES - 1;
    }
    files.known[count] = file;
    files.count += 1;
    count
}

fn forget_at_end() {
    if !mem::replace(&mut FILES.lock().is_used, true) {
        door::on_execution_end(Box::new(forget));
    }
}

fn forget() {
    let mut files = FILES.lock();
    (files.count, files.is_used) = (0, false);
    for changes in &CHANGES {
        changes.store(0, Real::Relaxed);
    }
}
