//! `std::sync::Weak`.

use super::{Arc, count, header};
use crate::door::{self, Action, Counts};
use ::std::fmt;
use ::std::mem::ManuallyDrop;
use ::std::ptr;

/// Mirrors `std::sync::Weak`, with the same layout.
#[repr(transparent)]
pub struct Weak<T: ?Sized> {
    inner: ::std::sync::Weak<T>,
}

impl<T> Weak<T> {
    /// Mirrors `std::sync::Weak::new`.
    #[inline]
    #[must_use]
    pub const fn new() -> Weak<T> {
        Weak { inner: ::std::sync::Weak::new() }
    }
}

impl<T: ?Sized> Weak<T> {
    #[inline]
    pub(super) const fn wrap(inner: ::std::sync::Weak<T>) -> Weak<T> {
        Weak { inner }
    }

    #[inline]
    pub(super) fn wrap_ref(inner: &::std::sync::Weak<T>) -> &Weak<T> {
        // SAFETY: `Weak` is transparent over its only field.
        unsafe { &*(&raw const *inner as *const Weak<T>) }
    }

    /// One operation on this pointer's counts, if it points to an allocation.
    #[inline]
    #[track_caller]
    fn count(&self, action: Action) {
        let data = self.inner.as_ptr();
        // A pointer made by `Weak::new` has the address of no allocation.
        if data.addr() != usize::MAX {
            count(data, action, None);
        }
    }

    /// This pointer goes. If nothing is left of the allocation then, it has seen all the others go.
    #[inline]
    #[track_caller]
    fn count_down(&self) {
        self.count(Action::CountDown);
        if door::active() && self.is_last() {
            door::count_last(header(self.inner.as_ptr()), Counts::Weak);
        }
    }

    /// Whether this is all that keeps the allocation.
    fn is_last(&self) -> bool {
        let data = self.inner.as_ptr();
        if data.addr() == usize::MAX || self.inner.strong_count() != 0 {
            return false;
        }
        // SAFETY: this pointer keeps the allocation. The value in it is gone, and only its type's alignment is asked for.
        let align = align_of_val(unsafe { &*data });
        // `std` does not say how many there are once the value is gone. Its counts stand before the value, the strong one
        // first.
        let counts = data.cast::<usize>().wrapping_byte_sub((2 * size_of::<usize>()).next_multiple_of(align));
        // SAFETY: the second word of the allocation, an atomic of `std`'s.
        let weak = unsafe { &*counts.wrapping_add(1).cast::<::std::sync::atomic::AtomicUsize>() };
        weak.load(::std::sync::atomic::Ordering::Relaxed) == 1
    }

    /// Mirrors `std::sync::Weak::from_raw`.
    ///
    /// # Safety
    /// As in `std`: the pointer came from `into_raw`, and its weak count is owned.
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: the caller's promise.
        Weak::wrap(unsafe { ::std::sync::Weak::from_raw(ptr) })
    }

    /// Mirrors `std::sync::Weak::into_raw`.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the pointer is moved out exactly once.
        let inner = unsafe { ptr::read(&this.inner) };
        inner.into_raw()
    }

    /// Mirrors `std::sync::Weak::as_ptr`.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.inner.as_ptr()
    }

    /// Mirrors `std::sync::Weak::upgrade`.
    #[must_use = "this returns a new `Arc`, without modifying the original weak pointer"]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        self.count(Action::CountUpdate);
        let upgraded = self.inner.upgrade();
        door::count_is(header(self.inner.as_ptr()), self.inner.strong_count());
        match upgraded {
            Some(_) => door::count_acquired(header(self.inner.as_ptr()), Counts::Strong),
            None => door::count_met(header(self.inner.as_ptr()), Counts::Strong),
        }
        upgraded.map(Arc::wrap)
    }

    /// Mirrors `std::sync::Weak::strong_count`.
    #[must_use]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.count(Action::CountRead);
        door::count_met(header(self.inner.as_ptr()), Counts::Strong);
        self.inner.strong_count()
    }

    /// Mirrors `std::sync::Weak::weak_count`.
    #[must_use]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        self.count(Action::CountRead);
        // By an acquire load, where an `Arc` asks by a relaxed one.
        door::count_acquired(header(self.inner.as_ptr()), Counts::Weak);
        door::count_met(header(self.inner.as_ptr()), Counts::Strong);
        self.inner.weak_count()
    }

    /// Mirrors `std::sync::Weak::ptr_eq`.
    #[inline]
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.inner.ptr_eq(&other.inner)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        self.count(Action::CountUp);
        Weak::wrap(self.inner.clone())
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[cfg(not(icb_coerce))]
impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        self.count_down();
    }
}

#[cfg(icb_coerce)]
// SAFETY: the counts are touched, the value is not.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        self.count_down();
    }
}
