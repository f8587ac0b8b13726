//! `loom::cell`: cells whose accesses are checked for data races.
//!
//! As in loom, what ends with a release (a closure whose last step is an `unpark`, a guard that unlocks before its pointer
//! goes) is taken to have made its accesses before that. With `--accesses` each access is seen where it is.

use icb_std::cell::PointerAccess;
use std::fmt;

/// Mirrors `loom::cell::UnsafeCell`: as [`icb_std::cell::UnsafeCell`], with pointers from [`get`](Self::get) and
/// [`get_mut`](Self::get_mut) that are an access for as long as they live.
#[derive(Default)]
pub struct UnsafeCell<T: ?Sized>(icb_std::cell::UnsafeCell<T>);

/// Mirrors `loom::cell::ConstPtr`: a read that lasts until it is dropped.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    read: PointerAccess,
    pointer: *const T,
}

/// Mirrors `loom::cell::MutPtr`: a write that lasts until it is dropped.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    write: PointerAccess,
    pointer: *mut T,
}

impl<T> UnsafeCell<T> {
    /// Mirrors `loom::cell::UnsafeCell::new`.
    #[inline]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(icb_std::cell::UnsafeCell::new(value))
    }

    /// Mirrors `loom::cell::UnsafeCell::into_inner`.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Mirrors `loom::cell::UnsafeCell::with`: one read.
    #[inline]
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _read = self.0.begin_reading();
        f(self.0.get())
    }

    /// Mirrors `loom::cell::UnsafeCell::with_mut`: one write.
    #[inline]
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _write = self.0.begin_writing();
        f(self.0.get())
    }

    /// Mirrors `loom::cell::UnsafeCell::get`: begins a read.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr { read: self.0.begin_reading(), pointer: self.0.get() }
    }

    /// Mirrors `loom::cell::UnsafeCell::get_mut`: begins a write.
    #[inline]
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr { write: self.0.begin_writing(), pointer: self.0.get() }
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// Mirrors `loom::cell::ConstPtr::deref`.
    ///
    /// # Safety
    /// As for the pointer.
    #[inline]
    #[must_use]
    pub unsafe fn deref(&self) -> &T {
        self.read.again();
        // SAFETY: the caller's promise.
        unsafe { &*self.pointer }
    }

    /// Mirrors `loom::cell::ConstPtr::with`.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.read.again();
        f(self.pointer)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// Mirrors `loom::cell::MutPtr::deref`.
    ///
    /// # Safety
    /// As for the pointer.
    #[inline]
    #[must_use]
    #[expect(clippy::mut_from_ref, reason = "stands for a raw pointer, as loom's does")]
    pub unsafe fn deref(&self) -> &mut T {
        self.write.again();
        // SAFETY: the caller's promise.
        unsafe { &mut *self.pointer }
    }

    /// Mirrors `loom::cell::MutPtr::with`.
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.write.again();
        f(self.pointer)
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

/// Mirrors `loom::cell::Cell`: as `std::cell::Cell`, and it is noticed if two threads use it at once.
#[derive(Default)]
pub struct Cell<T> {
    value: UnsafeCell<T>,
}

impl<T> Cell<T> {
    /// Mirrors `loom::cell::Cell::new`.
    #[inline]
    pub const fn new(value: T) -> Cell<T> {
        Cell { value: UnsafeCell::new(value) }
    }

    /// Mirrors `loom::cell::Cell::set`.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Mirrors `loom::cell::Cell::swap`.
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        if !std::ptr::eq(self, other) {
            // SAFETY: they are two values, of which nobody else has a reference; that nobody else is here is checked.
            self.value.with_mut(|a| other.value.with_mut(|b| unsafe { std::ptr::swap(a, b) }));
        }
    }

    /// Mirrors `loom::cell::Cell::replace`.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: nobody has a reference to the value; that nobody else is here is checked.
        self.value.with_mut(|place| unsafe { std::mem::replace(&mut *place, value) })
    }

    /// Mirrors `loom::cell::Cell::get`.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: as above.
        self.value.with(|place| unsafe { *place })
    }

    /// Mirrors `loom::cell::Cell::take`.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Mirrors `loom::cell::Cell::into_inner`.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: Copy> Clone for Cell<T> {
    fn clone(&self) -> Cell<T> {
        Cell::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    fn eq(&self, other: &Cell<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    fn partial_cmp(&self, other: &Cell<T>) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    fn cmp(&self, other: &Cell<T>) -> std::cmp::Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}
