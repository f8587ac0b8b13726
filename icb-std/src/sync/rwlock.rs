//! `std::sync::RwLock`. Modelled: `read`, `try_read`, `write`, `try_write`, `downgrade` and the drop of a guard, each
//! one step, and so are `is_poisoned` and `clear_poison`; poisoning by writers. Readers and writers that wait are chosen
//! by the scheduler, but where a writer waits for readers: it says so in a step of its own, and those who come to read after that wait
//! for it (`try_read` fails), as on the platforms of `std` today. So a thread that reads twice can wait for itself. What a platform does
//! that lets them pass is explored as well: they come before the writer says so. A writer that has waited and goes on as a reader may keep others
//! from reading beside it. Not modelled: a reader that passes a writer after a
//! `try_read` has failed because of it; the most readers that a platform allows.

use super::flag::Flag;
use crate::door::{self, Action, Effect, Handle, InitialState, ObjectInit};
use crate::image::{self, Restore};
use ::std::any::type_name;
use ::std::cell::UnsafeCell;
use ::std::fmt;
use ::std::mem::ManuallyDrop;
use ::std::ops::{Deref, DerefMut};
use ::std::panic::{RefUnwindSafe, UnwindSafe};
use ::std::ptr::{self, NonNull};
use ::std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// Mirrors `std::sync::RwLock`.
#[repr(C)]
pub struct RwLock<T: ?Sized> {
    core: Core,
    data: UnsafeCell<T>,
}

/// Everything but the data.
struct Core {
    handle: Handle,
    /// Locked outside executions only.
    real: ::std::sync::RwLock<()>,
    flag: Flag,
    restore: Restore,
}

// SAFETY: the data moves with the lock.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the data is reached by one writer or by readers, by the runtime's lock in an execution and by `real`
// outside; readers on several threads share `&T`, hence `T: Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// Mirrors `std::sync::RwLockReadGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'rwlock, T: ?Sized + 'rwlock> {
    data: NonNull<T>,
    core: &'rwlock Core,
    /// Present if the lock was taken outside an execution.
    real: Option<::std::sync::RwLockReadGuard<'rwlock, ()>>,
}

// SAFETY: a shared guard gives `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

/// Mirrors `std::sync::RwLockWriteGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'rwlock, T: ?Sized + 'rwlock> {
    lock: &'rwlock RwLock<T>,
    /// Present if the lock was taken outside an execution.
    real: Option<::std::sync::RwLockWriteGuard<'rwlock, ()>>,
    was_unwinding: bool,
    changed: bool,
}

// SAFETY: a shared guard gives `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// Mirrors `std::sync::RwLock::new`.
    #[inline]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            core: Core {
                handle: Handle::new(),
                real: ::std::sync::RwLock::new(()),
                flag: Flag::new(),
                restore: Some(restore::<T>),
            },
            data: UnsafeCell::new(value),
        }
    }
}

/// # Safety
/// `address` is that of a live `RwLock<T>`.
unsafe fn restore<T>(address: *const ()) {
    let this = address.cast::<RwLock<T>>();
    // SAFETY: the lock is alive; if it is in the image it is a static.
    unsafe {
        image::restore_at_end(
            (*this).data.get(),
            false,
            (*this).core.flag.bits(),
            &raw const (*this).core.restore,
        )
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline]
    fn init(&self) -> ObjectInit {
        ObjectInit {
            state: InitialState::RwLock,
            type_name: type_name::<RwLock<T>>(),
            address: (&raw const *self).cast(),
            on_first_use: self.core.restore,
        }
    }

    /// Mirrors `std::sync::RwLock::read`.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        match self.core.handle.read_lock(self.init()) {
            Some(_) => RwLockReadGuard::new(self, None),
            None => self.read_outside(),
        }
    }

    #[cold]
    fn read_outside(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let real = self.core.real.read().unwrap_or_else(PoisonError::into_inner);
        RwLockReadGuard::new(self, Some(real))
    }

    /// Mirrors `std::sync::RwLock::try_read`.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        door::note_registers();
        let real = match self.core.handle.perform(self.init(), Action::TryReadLock) {
            Some(Effect::Refused) => return Err(TryLockError::WouldBlock),
            Some(_) => None,
            None => Some(ignore_poison(self.core.real.try_read())?),
        };
        Ok(RwLockReadGuard::new(self, real)?)
    }

    /// Mirrors `std::sync::RwLock::write`.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        if let Some(Effect::Done) = self.core.handle.come_to_write(self.init()) {
            return RwLockWriteGuard::new(self, None);
        }
        while let Some(effect) = self.core.handle.write_lock(self.init()) {
            if effect != Effect::Refused {
                return RwLockWriteGuard::new(self, None);
            }
        }
        self.write_outside()
    }

    #[cold]
    fn write_outside(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let real = self.core.real.write().unwrap_or_else(PoisonError::into_inner);
        RwLockWriteGuard::new(self, Some(real))
    }

    /// Mirrors `std::sync::RwLock::try_write`.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        door::note_registers();
        let real = match self.core.handle.perform(self.init(), Action::TryWriteLock) {
            Some(Effect::Refused) => return Err(TryLockError::WouldBlock),
            Some(_) => None,
            None => Some(ignore_poison(self.core.real.try_write())?),
        };
        Ok(RwLockWriteGuard::new(self, real)?)
    }

    /// Mirrors `std::sync::RwLock::is_poisoned`.
    #[inline]
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.core.handle.perform(self.init(), Action::IsPoisoned);
        self.core.flag.poisoned()
    }

    /// Mirrors `std::sync::RwLock::clear_poison`.
    #[inline]
    #[track_caller]
    pub fn clear_poison(&self) {
        self.core.handle.perform(self.init(), Action::ClearPoison);
        self.core.flag.clear_poison();
    }

    /// Mirrors `std::sync::RwLock::into_inner`.
    pub fn into_inner(self) -> LockResult<T>
    where
        T: Sized,
    {
        let poisoned = self.core.flag.poisoned();
        let data = self.data.into_inner();
        if poisoned { Err(PoisonError::new(data)) } else { Ok(data) }
    }

    /// Mirrors `std::sync::RwLock::get_mut`.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.core.flag.poisoned();
        let data = self.data.get_mut();
        if poisoned { Err(PoisonError::new(data)) } else { Ok(data) }
    }
}

/// The poison of the real lock says nothing: the mirror has its own.
fn ignore_poison<G, H>(result: TryLockResult<G>) -> Result<G, TryLockError<H>> {
    match result {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(error)) => Ok(error.into_inner()),
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => {
                d.field("data", &&*guard);
            }
            Err(TryLockError::Poisoned(error)) => {
                d.field("data", &&**error.get_ref());
            }
            Err(TryLockError::WouldBlock) => {
                d.field("data", &format_args!("<locked>"));
            }
        }
        // It has been let go of by now: somebody else may have poisoned it in between.
        d.field("poisoned", &self.is_poisoned());
        d.finish_non_exhaustive()
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(Default::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    #[inline]
    fn new(lock: &'a RwLock<T>, real: Option<::std::sync::RwLockReadGuard<'a, ()>>) -> LockResult<Self> {
        if real.is_some() {
            lock.core.flag.escape();
        }
        // SAFETY: the address of a field is not null.
        let data = unsafe { NonNull::new_unchecked(lock.data.get()) };
        lock.core.flag.result(RwLockReadGuard { data, core: &lock.core, real })
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    #[inline]
    fn new(lock: &'a RwLock<T>, real: Option<::std::sync::RwLockWriteGuard<'a, ()>>) -> LockResult<Self> {
        if real.is_some() {
            lock.core.flag.escape();
        }
        let guard = RwLockWriteGuard { lock, real, was_unwinding: door::unwinding(), changed: false };
        lock.core.flag.result(guard)
    }

    /// Mirrors `std::sync::RwLockWriteGuard::downgrade`.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let guard = ManuallyDrop::new(s);
        let lock = guard.lock;
        // SAFETY: `guard` is not dropped and its field is not used again.
        let real = unsafe { ptr::read(&guard.real) };
        let real = match real {
            Some(real) => Some(::std::sync::RwLockWriteGuard::downgrade(real)),
            None => {
                lock.core.handle.perform_with(lock.init(), Action::Downgrade, guard.changed);
                None
            }
        };
        RwLockReadGuard::new(lock, real).unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held for reading for as long as the guard lives.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held for writing for as long as the guard lives.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        // SAFETY: the lock is held for writing for as long as the guard lives, which is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.real.is_none() {
            let init = ObjectInit {
                state: InitialState::RwLock,
                type_name: type_name::<RwLock<T>>(),
                address: (&raw const *self.core).cast(),
                // A guard of this execution means that the lock has been used in it.
                on_first_use: None,
            };
            self.core.handle.read_unlock(init);
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let poisons = self.lock.core.flag.done(self.was_unwinding);
        if self.real.is_none() {
            self.lock.core.handle.write_unlock(self.lock.init(), self.changed | poisons);
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
