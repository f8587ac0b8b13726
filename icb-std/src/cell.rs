//! `std::cell`. Modelled: [`UnsafeCell`], through [`with`](UnsafeCell::with) and [`with_mut`](UnsafeCell::with_mut),
//! which tell the runtime about one read or write: it is checked for data races, and is a scheduling point where
//! the granularity says so. Not modelled: [`get`](UnsafeCell::get), which is `const` in `std` and therefore here;
//! what is done through its pointer is seen only by compiler instrumentation. `Cell`, `RefCell`, `OnceCell` and
//! `LazyCell` belong to one thread and are `std`'s.
//!
//! `UnsafeCell` is this type with and without `--cfg icb`, so that `with` and `with_mut` can always be called;
//! without it they only call the closure.

pub use ::std::cell::*;

use ::std::fmt;
#[cfg(all(icb, icb_coerce))]
use ::std::ops::{CoerceUnsized, DispatchFromDyn};

/// Mirrors `std::cell::UnsafeCell`, with the same layout.
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized> {
    value: ::std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// Mirrors `std::cell::UnsafeCell::new`.
    #[inline(always)]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { value: ::std::cell::UnsafeCell::new(value) }
    }

    /// Mirrors `std::cell::UnsafeCell::into_inner`.
    #[inline(always)]
    pub const fn into_inner(self) -> T {
        let this = ::std::mem::ManuallyDrop::new(self);
        // SAFETY: the cell has the layout of `T` and is never dropped, so the value is moved out exactly once.
        unsafe { ::std::ptr::read((&raw const this).cast::<T>()) }
    }

    /// Mirrors `std::cell::UnsafeCell::replace`. Like [`get`](Self::get) it is not checked.
    ///
    /// # Safety
    /// As in `std`: nobody else accesses the value meanwhile, and no reference to it is alive.
    #[inline(always)]
    pub const unsafe fn replace(&self, value: T) -> T {
        // SAFETY: the caller's promise.
        unsafe { ::std::ptr::replace(self.get(), value) }
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Mirrors `std::cell::UnsafeCell::from_mut`.
    #[inline(always)]
    pub const fn from_mut(value: &mut T) -> &mut UnsafeCell<T> {
        // SAFETY: the cell has the layout of `T`, and the exclusive borrow is passed on.
        unsafe { &mut *(value as *mut T as *mut UnsafeCell<T>) }
    }

    /// Mirrors `std::cell::UnsafeCell::get`. Being `const`, it cannot tell the runtime anything: accesses through
    /// the pointer are not checked. See [`with`](Self::with) and [`with_mut`](Self::with_mut).
    #[inline(always)]
    pub const fn get(&self) -> *mut T {
        self.value.get()
    }

    /// Mirrors `std::cell::UnsafeCell::get_mut`.
    #[inline(always)]
    pub const fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Mirrors `std::cell::UnsafeCell::raw_get`.
    #[inline(always)]
    pub const fn raw_get(this: *const Self) -> *mut T {
        this as *const T as *mut T
    }

    /// Mirrors `std::cell::UnsafeCell::as_ref_unchecked`. Like [`get`](Self::get) it is not checked.
    ///
    /// # Safety
    /// As in `std`: while the reference is alive nobody changes the value.
    #[inline(always)]
    pub const unsafe fn as_ref_unchecked(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.get() }
    }

    /// Mirrors `std::cell::UnsafeCell::as_mut_unchecked`. Like [`get`](Self::get) it is not checked.
    ///
    /// # Safety
    /// As in `std`: while the reference is alive nobody else accesses the value.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "std declares it so")]
    pub const unsafe fn as_mut_unchecked(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.get() }
    }

    /// One read of the value: `f` may read through the pointer, and must not keep it.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let _access = self.begin_read();
        f(self.value.get())
    }

    /// One write of the value: `f` may read and write through the pointer, and must not keep it.
    #[inline]
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let _access = self.begin_write();
        f(self.value.get())
    }

    /// A read that lasts until what is returned is dropped.
    #[inline]
    #[track_caller]
    fn begin_read(&self) -> Access {
        #[cfg(icb)]
        return Access::begin(self, crate::door::Action::CellRead);
        #[cfg(not(icb))]
        Access(())
    }

    /// A write that lasts until what is returned is dropped.
    #[inline]
    #[track_caller]
    fn begin_write(&self) -> Access {
        #[cfg(icb)]
        return Access::begin(self, crate::door::Action::CellWrite);
        #[cfg(not(icb))]
        Access(())
    }

    /// A pointer that is read through, until what is returned is dropped.
    #[doc(hidden)]
    #[inline]
    #[track_caller]
    pub fn begin_reading(&self) -> PointerAccess {
        PointerAccess(::std::mem::ManuallyDrop::new(self.begin_read()))
    }

    /// A pointer that is written through, until what is returned is dropped.
    #[doc(hidden)]
    #[inline]
    #[track_caller]
    pub fn begin_writing(&self) -> PointerAccess {
        PointerAccess(::std::mem::ManuallyDrop::new(self.begin_write()))
    }
}

/// A bracketed access that has begun; ends when dropped, also by a panic.
#[derive(Debug)]
#[cfg(not(icb))]
struct Access(());

/// A bracketed access that has begun; ends when dropped, also by a panic.
#[derive(Debug)]
#[cfg(icb)]
struct Access {
    /// Null outside an execution.
    address: *const (),
    action: crate::door::Action,
}

#[cfg(icb)]
impl Access {
    #[inline]
    #[track_caller]
    fn begin<T: ?Sized>(cell: &UnsafeCell<T>, action: crate::door::Action) -> Access {
        let address = cell.value.get().cast_const().cast::<()>();
        let type_name = ::std::any::type_name::<UnsafeCell<T>>();
        let seen = crate::door::cell(address, size_of_val(cell), type_name, action);
        Access { address: if seen { address } else { ::std::ptr::null() }, action }
    }
}

#[cfg(icb)]
impl Drop for Access {
    #[inline]
    fn drop(&mut self) {
        if !self.address.is_null() {
            crate::door::cell_end(self.address, self.action);
        }
    }
}

/// A pointer to a cell, which is an access for as long as it lives. Its uses are told with [`again`](Self::again).
#[doc(hidden)]
#[derive(Debug)]
pub struct PointerAccess(::std::mem::ManuallyDrop<Access>);

impl PointerAccess {
    /// It is used.
    #[inline]
    pub fn again(&self) {
        #[cfg(icb)]
        if !self.0.address.is_null() {
            crate::door::cell_end(self.0.address, self.0.action);
        }
    }
}

impl Drop for PointerAccess {
    #[inline]
    fn drop(&mut self) {
        #[cfg(icb)]
        if !self.0.address.is_null() {
            crate::door::cell_pointer_end(self.0.address, self.0.action);
        }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(Default::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

#[cfg(all(icb, icb_coerce))]
impl<T: CoerceUnsized<U>, U> CoerceUnsized<UnsafeCell<U>> for UnsafeCell<T> {}
#[cfg(all(icb, icb_coerce))]
impl<T: DispatchFromDyn<U>, U> DispatchFromDyn<UnsafeCell<U>> for UnsafeCell<T> {}
