//! Locks of files (`flock(2)`, by which `std::fs::File` locks): in an execution a thread that waits for one lets others go on. Who has locked what is the system's affair, which is
//! asked without waiting. Not modelled: locks that another process holds (the test leaves the model), and those of `fcntl(2)`, which belong to processes.

use crate::door::{self, OwnLock, Which};
use crate::status::identity;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::system::{self, answer_of, system};
use ::std::ffi::{c_int, c_long};
use ::std::sync::PoisonError;

const LOCK_SHARED: c_int = 1;
const LOCK_EXCLUSIVE: c_int = 2;
const LOCK_NOT_WAITING: c_int = 4;
const LOCK_NO_MORE: c_int = 8;
const EAGAIN: c_long = 11;
/// Stands for a file that has been closed.
const CLOSED: c_int = -1;

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(c_int, c_int) -> c_int = flock;

/// So many locks are known at a time.
const MAX_LOCKS: usize = 64;

/// The locks of the running execution: the file as it is open, and which it is.
struct Locks {
    held: [(c_int, Which); MAX_LOCKS],
    count: usize,
    /// There have been more at a time.
    is_full: bool,
    /// It is known that all this is to be forgotten.
    is_used: bool,
}

static LOCKS: OwnLock<Locks> =
    OwnLock::new(Locks { held: [(0, [0; 2]); MAX_LOCKS], count: 0, is_full: false, is_used: false });
/// Held while a file is locked, and while a lock is let go.
static FILE_LOCKS: Mutex<()> = Mutex::new(());
/// A lock has been let go.
static FILE_UNLOCKED: Condvar = Condvar::of_file_locks();

fn hold() -> MutexGuard<'static, ()> {
    FILE_LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Locks {
    fn insert(&mut self, file: c_int) {
        if door::forget_at_end(&mut self.is_used, forget_locks) {
            door::makes_files();
        }
        self.remove(file);
        match self.held.get_mut(self.count) {
            Some(free) => {
                *free = (file, identity(file));
                self.count += 1;
            }
            None => self.is_full = true,
        }
    }

    /// It is closed; a duplicate may have the lock still.
    fn close(&mut self, file: c_int) {
        if let Some(held) = self.held[..self.count].iter_mut().find(|(held, _)| *held == file) {
            held.0 = CLOSED;
        }
    }

    fn remove(&mut self, file: c_int) {
        if let Some(at) = self.held[..self.count].iter().position(|(held, _)| *held == file) {
            self.count -= 1;
            self.held[at] = self.held[self.count];
        }
    }

    /// Whether a thread of the execution may have locked what this file is.
    fn holds(&self, file: c_int) -> bool {
        let which = identity(file);
        self.is_full || self.held[..self.count].iter().any(|(_, held)| *held == which)
    }
}

/// The execution is over: what threads that were left where they were have locked is not locked for the next one.
fn forget_locks() {
    let mut locks = LOCKS.lock();
    for &(file, which) in &locks.held[..locks.count] {
        if file != CLOSED && identity(file) == which {
            // SAFETY: the call takes numbers only.
            unsafe { system(system::FLOCK, file as usize, LOCK_NO_MORE as usize, 0, 0, 0, 0) };
        }
    }
    (locks.count, locks.is_full, locks.is_used) = (0, false, false);
}

/// The C function `flock`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn flock(file: c_int, action: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let ask = |action: c_int| unsafe { system(system::FLOCK, file as usize, action as usize, 0, 0, 0, 0) };
    let result = if door::is_modelled() { lock_modelled(file, action, &ask) } else { ask(action) };
    answer_of(result) as c_int
}

fn lock_modelled(file: c_int, action: c_int, ask: &dyn Fn(c_int) -> c_long) -> c_long {
    let waits = action & (LOCK_EXCLUSIVE | LOCK_SHARED) != 0 && action & LOCK_NOT_WAITING == 0;
    let ask = || {
        let result = ask(action | LOCK_NOT_WAITING);
        if result == 0 {
            let mut locks = LOCKS.lock();
            if action & LOCK_NO_MORE == 0 { locks.insert(file) } else { locks.remove(file) }
        }
        result
    };
    door::without_unwinding(|| {
        // Who is alone waits for nobody: what cannot be had then is tried in the usual way.
        let is_alone = door::is_alone();
        if is_alone {
            let result = ask();
            if !waits || result != -EAGAIN {
                return result;
            }
        }
        let mut held = hold();
        loop {
            let result = ask();
            if result == 0 && action & (LOCK_NO_MORE | LOCK_SHARED) != 0 {
                FILE_UNLOCKED.notify_all();
            }
            if !waits || result != -EAGAIN {
                return result;
            }
            if !LOCKS.lock().holds(file) {
                drop(held);
                door::outside("it waits for a lock of a file that another process holds");
                return result;
            }
            held = FILE_UNLOCKED.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
    })
}

/// Closes a file, which lets go of its lock.
pub(crate) fn closing(file: c_int, close: impl FnOnce() -> c_long) -> c_long {
    if !door::is_modelled() || !LOCKS.lock().is_used || !LOCKS.lock().holds(file) {
        return close();
    }
    door::without_unwinding(|| {
        let held = (!door::is_alone()).then(hold);
        let result = close();
        LOCKS.lock().close(file);
        if held.is_some() {
            FILE_UNLOCKED.notify_all();
        }
        result
    })
}
