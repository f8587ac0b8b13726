//! Locks of the tool's own in statics, which several executions of one process have in common, each on its own thread of the system: who
//! waits for one of them waits for the system, and whoever lets it go wakes that one, whatever of that looks like what the program does.

use super::allocator::aside;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mutex of the tool's own. It is not held at a step.
#[derive(Debug, Default)]
pub struct OwnLock<T>(Mutex<T>);

impl<T> OwnLock<T> {
    /// A mutex with this value.
    pub const fn new(value: T) -> Self {
        OwnLock(Mutex::new(value))
    }

    /// Locks it, poisoned or not.
    pub fn lock(&self) -> OwnGuard<'_, T> {
        OwnGuard(ManuallyDrop::new(aside(|| self.0.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}

/// It is locked as long as this is there.
#[derive(Debug)]
pub struct OwnGuard<'a, T>(ManuallyDrop<MutexGuard<'a, T>>);

impl<T> Deref for OwnGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for OwnGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for OwnGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: it is not used after this.
        aside(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}
