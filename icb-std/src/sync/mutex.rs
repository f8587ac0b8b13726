//! `std::sync::Mutex`. Modelled: `lock`, `try_lock`, the drop of a guard, `is_poisoned` and `clear_poison`, each one
//! step; poisoning. Which of several waiting threads takes a free mutex next is the scheduler's choice. Not modelled:
//! the lock's fairness on any one platform.

use super::flag::Flag;
use crate::door::{self, Action, Effect, Handle, InitialState, ObjectInit};
use crate::image::{self, Restore};
use ::std::any::type_name;
use ::std::cell::UnsafeCell;
use ::std::fmt;
use ::std::mem::MaybeUninit;
use ::std::ops::{Deref, DerefMut};
use ::std::panic::{RefUnwindSafe, UnwindSafe};
use ::std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// Mirrors `std::sync::Mutex`.
pub struct Mutex<T: ?Sized> {
    handle: Handle,
    /// Locked outside executions only.
    real: ::std::sync::Mutex<()>,
    flag: Flag,
    restore: Restore,
    data: UnsafeCell<T>,
}

// SAFETY: the data moves with the mutex.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the data is reached by one thread at a time: by the runtime's lock in an execution, by `real` outside.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// Mirrors `std::sync::MutexGuard`.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    lock: &'a Mutex<T>,
    /// Present if the mutex was locked outside an execution.
    real: Option<::std::sync::MutexGuard<'a, ()>>,
    was_unwinding: bool,
    changed: bool,
}

// SAFETY: a shared guard gives `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// Mirrors `std::sync::Mutex::new`.
    #[inline]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            handle: Handle::new(),
            real: ::std::sync::Mutex::new(()),
            flag: Flag::new(),
            restore: Some(restore::<T>),
            data: UnsafeCell::new(value),
        }
    }
}

/// # Safety
/// `address` is that of a live `Mutex<T>`.
unsafe fn restore<T>(address: *const ()) {
    let this = address.cast::<Mutex<T>>();
    // SAFETY: the mutex is alive; if it is in the image it is a static.
    unsafe {
        image::restore_at_end((*this).data.get(), false, (*this).flag.bits(), &raw const (*this).restore)
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline]
    pub(super) fn init(&self) -> ObjectInit {
        ObjectInit {
            state: InitialState::Mutex,
            type_name: type_name::<Mutex<T>>(),
            address: (&raw const *self).cast(),
            on_first_use: self.restore,
        }
    }

    #[inline]
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Mirrors `std::sync::Mutex::lock`.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.handle.lock(self.init()) {
            Some(_) => MutexGuard::new(self, None),
            None => self.lock_outside(),
        }
    }

    #[cold]
    fn lock_outside(&self) -> LockResult<MutexGuard<'_, T>> {
        let real = self.real.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard::new(self, Some(real))
    }

    /// Mirrors `std::sync::Mutex::try_lock`.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        door::note_registers();
        let real = match self.handle.perform(self.init(), Action::TryLock) {
            Some(Effect::Refused) => return Err(TryLockError::WouldBlock),
            Some(_) => None,
            None => match self.real.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            },
        };
        Ok(MutexGuard::new(self, real)?)
    }

    /// Mirrors `std::sync::Mutex::is_poisoned`.
    #[inline]
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.handle.perform(self.init(), Action::IsPoisoned);
        self.flag.poisoned()
    }

    /// Mirrors `std::sync::Mutex::clear_poison`.
    #[inline]
    #[track_caller]
    pub fn clear_poison(&self) {
        self.handle.perform(self.init(), Action::ClearPoison);
        self.flag.clear_poison();
    }

    /// Mirrors `std::sync::Mutex::into_inner`.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        let poisoned = self.flag.poisoned();
        let data = self.data.into_inner();
        if poisoned { Err(PoisonError::new(data)) } else { Ok(data) }
    }

    /// Mirrors `std::sync::Mutex::get_mut`.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.flag.poisoned();
        let data = self.data.get_mut();
        if poisoned { Err(PoisonError::new(data)) } else { Ok(data) }
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(Default::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => {
                d.field("data", &&*guard);
            }
            Err(TryLockError::Poisoned(error)) => {
                d.field("data", &&**error.get_ref());
            }
            Err(TryLockError::WouldBlock) => {
                d.field("data", &"<locked>");
            }
        }
        // It has been let go of by now: somebody else may have poisoned it in between.
        d.field("poisoned", &self.is_poisoned());
        d.finish_non_exhaustive()
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline]
    fn new(lock: &'a Mutex<T>, real: Option<::std::sync::MutexGuard<'a, ()>>) -> LockResult<Self> {
        if real.is_some() {
            lock.flag.escape();
        }
        lock.flag.result(MutexGuard { lock, real, was_unwinding: door::unwinding(), changed: false })
    }

    #[inline]
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.lock
    }

    #[inline]
    pub(super) fn poisoned(&self) -> bool {
        self.lock.flag.poisoned()
    }

    /// The value, if it is one like that of an atomic: it keeps nothing elsewhere, and there is no padding in it. Else nothing.
    #[inline(always)]
    fn plain_bytes(&self) -> &[MaybeUninit<u8>] {
        let value: *const T = self.lock.data.get();
        // SAFETY: the mutex is locked, and its data is there.
        let (bytes, alignment) = unsafe { (size_of_val(&*value), align_of_val(&*value)) };
        let is_plain = bytes == alignment && bytes <= size_of::<u64>() && !::std::mem::needs_drop::<T>();
        // SAFETY: as above, and nobody else writes to it as long as the mutex is locked.
        unsafe { ::std::slice::from_raw_parts(value.cast(), if is_plain { bytes } else { 0 }) }
    }

    /// The lock of the real world, which a condvar gives back and takes again.
    #[inline]
    pub(super) fn real(&mut self) -> &mut Option<::std::sync::MutexGuard<'a, ()>> {
        &mut self.real
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the mutex is locked for as long as the guard lives.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        // SAFETY: the mutex is locked for as long as the guard lives, which is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let poisons = self.lock.flag.done(self.was_unwinding);
        if self.real.is_none() {
            self.lock.handle.unlock(self.lock.init(), self.changed | poisons, self.plain_bytes());
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
