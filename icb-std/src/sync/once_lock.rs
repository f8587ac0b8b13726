//! `std::sync::OnceLock`. Modelled: reading it (`get`, one step), initialising it (`set`, `get_or_init`: enter and
//! leave), `wait`. A static starts every execution uninitialised, unless it has been used outside of one. Not modelled:
//! nothing that a program could tell.

use super::once::{Once, Owner};
use crate::door;
use crate::image;
use ::std::any::type_name;
use ::std::cell::UnsafeCell;
use ::std::fmt;
use ::std::panic::{RefUnwindSafe, UnwindSafe};

/// Mirrors `std::sync::OnceLock`.
pub struct OnceLock<T> {
    once: Once,
    /// Present once `once` is complete.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: as in `std`: the value is shared between threads, and one that initialises may be another than one that
// drops, hence both.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: the value moves with its owner.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Mirrors `std::sync::OnceLock::new`.
    #[inline]
    #[must_use]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::with_restore(Some(restore::<T>)), value: UnsafeCell::new(None) }
    }

    fn owner(&self) -> Owner {
        Owner { address: (&raw const *self).cast(), type_name: type_name::<OnceLock<T>>() }
    }

    /// Mirrors `std::sync::OnceLock::get`.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if self.once.check(self.owner()) { self.value() } else { None }
    }

    /// Mirrors `std::sync::OnceLock::get_mut`.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Mirrors `std::sync::OnceLock::wait`.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_for(self.owner(), true);
        self.initialised()
    }

    /// Mirrors `std::sync::OnceLock::set`.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().unwrap());
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// Mirrors `std::sync::OnceLock::get_or_init`.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        let mut f = Some(f);
        self.once.call(self.owner(), true, &mut |_| {
            let value = (f.take().unwrap())();
            // SAFETY: `once` runs one initialiser at a time and none after a complete one, so nobody else reaches
            // the value: it is read only when `once` is complete.
            unsafe { *self.value.get() = Some(value) };
            door::value_is_made(self.value.get().cast());
        });
        self.initialised()
    }

    /// Mirrors `std::sync::OnceLock::into_inner`.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Mirrors `std::sync::OnceLock::take`.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let value = self.value.get_mut().take();
        if value.is_some() {
            self.once = Once::with_restore(Some(restore::<T>));
        }
        value
    }

    #[track_caller]
    fn initialised(&self) -> &T {
        self.value().unwrap_or_else(|| door::abandon("a OnceLock that is complete has a value"))
    }

    /// The value, once `once` is known to be complete.
    #[inline]
    fn value(&self) -> Option<&T> {
        // SAFETY: callers have seen `once` complete; nothing changes the value after that but exclusive borrows.
        unsafe { (*self.value.get()).as_ref() }
    }
}

/// # Safety
/// `address` is that of a live `OnceLock<T>`.
unsafe fn restore<T>(address: *const ()) {
    let this = address.cast::<OnceLock<T>>();
    // SAFETY: the lock is alive; if it is in the image it is a static.
    unsafe { image::restore_at_end((*this).value.get(), true, (*this).once.flags(), (*this).once.restore()) }
}

impl<T> Default for OnceLock<T> {
    #[inline]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => d.field(value),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> OnceLock<T> {
        match self.get() {
            Some(value) => OnceLock::from(value.clone()),
            None => OnceLock::new(),
        }
    }
}

impl<T> From<T> for OnceLock<T> {
    #[inline]
    fn from(value: T) -> Self {
        let mut cell = OnceLock::new();
        *cell.value.get_mut() = Some(value);
        cell.once.complete_mut();
        cell
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[inline]
    #[track_caller]
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
