//! `std::sync::LazyLock`. Modelled: forcing it (enter; leave, by the thread that initialises), looking at it with
//! `get`. A static starts every execution uninitialised, unless it has been used outside of one. Not modelled: nothing that
//! a program could tell.

use super::once::{Once, OnceState, Owner};
use crate::door;
use crate::image;
use ::std::any::type_name;
use ::std::cell::UnsafeCell;
use ::std::fmt;
use ::std::mem;
use ::std::ops::{Deref, DerefMut};
use ::std::panic::{RefUnwindSafe, UnwindSafe};

/// Mirrors `std::sync::LazyLock`.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    data: UnsafeCell<Data<T, F>>,
}

enum Data<T, F> {
    Init(F),
    Value(T),
    /// The initialiser runs, or has panicked.
    Gone,
}

impl<T, F> Data<T, F> {
    /// The initialiser, if it has not been called.
    fn take_init(&mut self) -> Option<F> {
        if !matches!(self, Data::Init(_)) {
            return None;
        }
        match mem::replace(self, Data::Gone) {
            Data::Init(f) => Some(f),
            _ => None,
        }
    }
}

// SAFETY: as in `std`: the value is shared, and may be made and dropped on different threads; the initialiser is
// called on one thread only.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Mirrors `std::sync::LazyLock::new`.
    #[inline]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { once: Once::with_restore(Some(restore::<T, F>)), data: UnsafeCell::new(Data::Init(f)) }
    }

    /// Mirrors `std::sync::LazyLock::force_mut`.
    #[inline]
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        if this.once.is_poisoned_mut() {
            panic_poisoned();
        }
        if let Some(f) = this.data.get_mut().take_init() {
            this.once.poison_mut();
            let value = f();
            *this.data.get_mut() = Data::Value(value);
            this.once.complete_mut();
        }
        match this.data.get_mut() {
            Data::Value(value) => value,
            _ => unreachable!("a complete LazyLock has a value"),
        }
    }

    /// Mirrors `std::sync::LazyLock::force`.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.once.call(this.owner(), true, &mut |state: &OnceState| {
            if state.is_poisoned() {
                panic_poisoned();
            }
            // SAFETY: `once` runs one initialiser at a time, and the data is read only when it is complete. The
            // borrow ends before `f` is called.
            let Some(f) = (unsafe { (*this.data.get()).take_init() }) else { return };
            let value = f();
            // SAFETY: as above.
            unsafe { *this.data.get() = Data::Value(value) };
            door::value_is_made(this.data.get().cast());
        });
        this.value().unwrap_or_else(|| door::abandon("a LazyLock that is complete has a value"))
    }
}

impl<T, F> LazyLock<T, F> {
    fn owner(&self) -> Owner {
        Owner { address: (&raw const *self).cast(), type_name: type_name::<LazyLock<T, F>>() }
    }

    /// Mirrors `std::sync::LazyLock::get_mut`.
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        match this.data.get_mut() {
            Data::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Mirrors `std::sync::LazyLock::get`.
    #[inline]
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        if this.once.check(this.owner()) { this.value() } else { None }
    }

    /// The value, once `once` is known to be complete.
    #[inline]
    fn value(&self) -> Option<&T> {
        // SAFETY: callers have seen `once` complete; nothing changes the data after that but exclusive borrows.
        match unsafe { &*self.data.get() } {
            Data::Value(value) => Some(value),
            _ => None,
        }
    }
}

/// # Safety
/// `address` is that of a live `LazyLock<T, F>`.
unsafe fn restore<T, F>(address: *const ()) {
    let this = address.cast::<LazyLock<T, F>>();
    // SAFETY: the lock is alive; if it is in the image it is a static.
    unsafe { image::restore_at_end((*this).data.get(), true, (*this).once.flags(), (*this).once.restore()) }
}

#[cold]
#[inline(never)]
#[track_caller]
fn panic_poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[inline]
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T, F> From<T> for LazyLock<T, F> {
    /// One that is initialised.
    #[inline]
    fn from(value: T) -> Self {
        let mut once = Once::with_restore(Some(restore::<T, F>));
        once.complete_mut();
        LazyLock { once, data: UnsafeCell::new(Data::Value(value)) }
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => d.field(value),
            None => d.field(&format_args!("<uninit>")),
        };
        d.finish()
    }
}
