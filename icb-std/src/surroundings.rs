//! What threads share beside memory, as objects of the model: one for all directories, one for each file, one for the environment. Looking at one, or
//! changing it, is a step where the runtime has found that what some thread does there is ordered by nothing. Knows nothing of how programs get at them.

use crate::door::{
    self, Action, AtomicRef, AtomicType, Ordering, OwnLock, Surroundings, SurroundingsUse, Which,
};
use ::std::sync::atomic::{AtomicU64, Ordering as Real};

/// So many files of an execution are told apart; all others are one.
const MAX_FILES: usize = 256;

/// What is no file.
const KINDS: usize = 4;
/// How often each has been changed in the running execution: the directories, the environment, all together, the numbers of threads, files.
static CHANGES: [AtomicU64; KINDS + MAX_FILES] = [const { AtomicU64::new(0) }; KINDS + MAX_FILES];
/// How many threads have got a number.
static NUMBERED: &AtomicU64 = &CHANGES[3];
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
static THREAD_NUMBERS: AtomicType =
    AtomicType { size: size_of::<u64>(), name: Surroundings::ThreadNumbers.name() };
static ALL: AtomicType = AtomicType { size: size_of::<u64>(), name: Surroundings::All.name() };

/// The directories, which are looked at or changed.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const fn directories(write: bool) -> SurroundingsUse {
    SurroundingsUse { what: Surroundings::Directories, which: [0, 0], write }
}

/// What this file contains.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const fn contents(file: Which, write: bool) -> SurroundingsUse {
    SurroundingsUse { what: Surroundings::Contents, which: file, write }
}

/// The environment, or the current directory.
pub(crate) const fn environment(write: bool) -> SurroundingsUse {
    SurroundingsUse { what: Surroundings::Environment, which: [0, 0], write }
}

/// The calling thread is about to ask the system for something that has to do with all these.
#[inline]
#[track_caller]
pub(crate) fn about_to_use(uses: &[SurroundingsUse]) {
    if let Some(step) = door::surroundings_used(uses) {
        take_step(step);
    }
}

/// The calling thread is about to spawn one, which gets the next number, as in `std`: by a step of its own, if it matters which.
#[inline]
#[track_caller]
pub(crate) fn number_thread() {
    if let Some(step) = door::about_to_number() {
        take_step(step);
        // Nobody has come in between.
        door::number_next_thread(NUMBERED.load(Real::Relaxed) + 1);
    }
}

#[cold]
#[track_caller]
fn take_step(SurroundingsUse { what, which, write }: SurroundingsUse) {
    let (of, changes) = match what {
        Surroundings::Directories => (&DIRECTORIES, &CHANGES[0]),
        Surroundings::Environment => (&ENVIRONMENT, &CHANGES[1]),
        Surroundings::All => (&ALL, &CHANGES[2]),
        Surroundings::ThreadNumbers => (&THREAD_NUMBERS, NUMBERED),
        Surroundings::Contents => (&CONTENTS, &CHANGES[KINDS + number(which)]),
    };
    let target = AtomicRef { address: (&raw const *changes).cast(), of };
    door::forget_at_end(&mut FILES.lock().is_used, forget);
    // What the system does for one thread and then for another is in this order for both. The next number of a thread is no more than a relaxed counter.
    let order = match what {
        Surroundings::ThreadNumbers => Ordering::Relaxed,
        _ => Ordering::SeqCst,
    };
    let action = match write {
        true => Action::ReadModifyWrite(order),
        false => Action::Load(order),
    };
    let Some(step) = door::atomic(target, action) else { return };
    let before = changes.load(Real::Relaxed);
    if write {
        changes.store(before + 1, Real::Relaxed);
        step.modified(order, before, before + 1);
    } else {
        step.loaded(order, before);
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

fn forget() {
    let mut files = FILES.lock();
    (files.count, files.is_used) = (0, false);
    for changes in &CHANGES {
        changes.store(0, Real::Relaxed);
    }
}
