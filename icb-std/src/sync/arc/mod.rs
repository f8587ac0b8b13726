//! `std::sync::Arc` and `Weak`: one field each, `std`'s own. Modelled: the counts, as one object for each allocation:
//! clone and downgrade (count up), drop (count down), the methods that read a count, and those whose result
//! depends on one (`upgrade`, `try_unwrap`, `into_inner`, `make_mut`). Not modelled: what is unstable in `std`
//! (allocators, `UniqueArc`).

mod convert;
mod traits;
mod weak;

pub use weak::Weak;

use crate::door::{self, Action, Counts};
use ::std::any::{Any, type_name};
use ::std::mem::{ManuallyDrop, MaybeUninit};
use ::std::pin::Pin;
use ::std::ptr;

/// Mirrors `std::sync::Arc`, with the same layout.
#[repr(transparent)]
pub struct Arc<T: ?Sized> {
    inner: ::std::sync::Arc<T>,
    /// Behind `inner`, so that it is dropped after it.
    gone: Gone,
}

/// Dropped when `std` has dropped the value and its own part in the allocation: whoever frees the allocation later,
/// with a `Weak`, has seen what the value's destructor did.
struct Gone;

impl Drop for Gone {
    #[inline]
    fn drop(&mut self) {
        door::value_gone((&raw const *self).cast());
    }
}

/// One operation on the counts of the allocation whose data are at `data`.
///
/// The counts are named by the last word before the data: it belongs to `std`'s header, so it is part of the same
/// allocation, and of no object that the data hold (whose first field has the very address of the data).
#[inline]
#[track_caller]
fn count<T: ?Sized>(data: *const T, action: Action, strong: Option<usize>) -> bool {
    door::count(header(data), type_name::<Arc<T>>(), action, strong)
}

#[inline]
fn header<T: ?Sized>(data: *const T) -> *const () {
    data.cast::<()>().wrapping_byte_sub(size_of::<usize>())
}

impl<T: ?Sized> Arc<T> {
    /// What loom's `Arc` has: `std`'s, made one of these.
    ///
    /// # Panics
    /// If there is another owner.
    #[doc(hidden)]
    #[track_caller]
    pub fn from_std(mut inner: ::std::sync::Arc<T>) -> Arc<T> {
        assert!(::std::sync::Arc::get_mut(&mut inner).is_some(), "Arc provided to `from_std` is not unique");
        Arc::wrap(inner)
    }

    #[inline]
    const fn wrap(inner: ::std::sync::Arc<T>) -> Arc<T> {
        Arc { inner, gone: Gone }
    }

    /// `std`'s pointer; the counts stay as they are.
    #[inline]
    fn unwrap(this: Self) -> ::std::sync::Arc<T> {
        let this = ManuallyDrop::new(this);
        // SAFETY: `this` is not dropped, so the pointer is moved out exactly once.
        unsafe { ptr::read(&this.inner) }
    }

    /// One operation on this pointer's counts.
    #[inline]
    #[track_caller]
    fn count(&self, action: Action) {
        count(::std::sync::Arc::as_ptr(&self.inner), action, None);
    }

    /// Asks for the number of these, by a relaxed load.
    #[track_caller]
    fn count_read(&self, counts: Counts) {
        self.count(Action::CountRead);
        door::count_met(header(::std::sync::Arc::as_ptr(&self.inner)), counts);
    }

    /// One operation on this pointer's strong count.
    #[inline]
    #[track_caller]
    fn count_strong(&self, action: Action) -> bool {
        let strong = ::std::sync::Arc::strong_count(&self.inner);
        count(::std::sync::Arc::as_ptr(&self.inner), action, Some(strong))
    }

    /// An operation that succeeds if this is the only owner, which has seen all the others go then. `goes`: if it is not the only one,
    /// it goes. The name of the counts.
    #[inline]
    #[track_caller]
    fn count_update(&self, goes: bool) -> *const () {
        self.count(Action::CountUpdate);
        let counts = header(::std::sync::Arc::as_ptr(&self.inner));
        let strong = ::std::sync::Arc::strong_count(&self.inner);
        door::count_is(counts, strong - usize::from(goes));
        if strong == 1 {
            door::count_acquired(counts, Counts::Strong);
        }
        counts
    }

    /// This pointer goes. If it is the last, it has seen all the others go.
    #[inline]
    #[track_caller]
    fn count_down(&self) {
        let data = ::std::sync::Arc::as_ptr(&self.inner);
        if self.count_strong(Action::CountDown) && ::std::sync::Arc::strong_count(&self.inner) == 1 {
            door::count_last(header(data), Counts::Strong);
            door::value_goes(header(data), (&raw const self.gone).cast());
        }
    }
}

impl<T> Arc<T> {
    /// Mirrors `std::sync::Arc::new`.
    #[inline]
    pub fn new(data: T) -> Arc<T> {
        Arc::wrap(::std::sync::Arc::new(data))
    }

    /// Mirrors `std::sync::Arc::new_cyclic`.
    #[inline]
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Arc<T>
    where
        F: FnOnce(&Weak<T>) -> T,
    {
        let inner = ::std::sync::Arc::new_cyclic(|weak| {
            let data = data_fn(Weak::wrap_ref(weak));
            // Where others may have a clone of the `Weak`, it is a step that it can be upgraded from here on.
            if door::count_is_known(header(weak.as_ptr())) {
                count(weak.as_ptr(), Action::CountUp, Some(0));
            }
            data
        });
        door::count_left(header(::std::sync::Arc::as_ptr(&inner)), Counts::Both);
        Arc::wrap(inner)
    }

    /// Mirrors `std::sync::Arc::new_uninit`.
    #[inline]
    #[must_use]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::wrap(::std::sync::Arc::new_uninit())
    }

    /// Mirrors `std::sync::Arc::new_zeroed`.
    #[inline]
    #[must_use]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc::wrap(::std::sync::Arc::new_zeroed())
    }

    /// Mirrors `std::sync::Arc::pin`.
    #[must_use]
    pub fn pin(data: T) -> Pin<Arc<T>> {
        // SAFETY: the value behind an `Arc` does not move, and nothing gives `&mut T` to it but `get_mut`, which
        // cannot be called through the pin.
        unsafe { Pin::new_unchecked(Arc::new(data)) }
    }

    /// Mirrors `std::sync::Arc::try_unwrap`.
    #[inline]
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        let counts = this.count_update(false);
        let result = ::std::sync::Arc::try_unwrap(Arc::unwrap(this)).map_err(Arc::wrap);
        if result.is_ok() {
            door::count_left(counts, Counts::Both);
        }
        result
    }

    /// Mirrors `std::sync::Arc::into_inner`.
    #[inline]
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let counts = this.count_update(true);
        let value = ::std::sync::Arc::into_inner(Arc::unwrap(this));
        door::count_left(counts, if value.is_some() { Counts::Both } else { Counts::Strong });
        value
    }

    /// Mirrors `std::sync::Arc::unwrap_or_clone`.
    #[inline]
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        match Arc::try_unwrap(this) {
            Ok(data) => data,
            Err(this) => (*this).clone(),
        }
    }

    /// Mirrors `std::sync::Arc::map`, and never uses the allocation again.
    #[inline]
    #[track_caller]
    pub fn map<U>(this: Self, f: impl FnOnce(&T) -> U) -> Arc<U> {
        let output = f(&this);
        drop(this);
        Arc::new(output)
    }
}

impl<T> Arc<[T]> {
    /// Mirrors `std::sync::Arc::new_uninit_slice`.
    #[inline]
    #[must_use]
    pub fn new_uninit_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::wrap(::std::sync::Arc::new_uninit_slice(len))
    }

    /// Mirrors `std::sync::Arc::new_zeroed_slice`.
    #[inline]
    #[must_use]
    pub fn new_zeroed_slice(len: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::wrap(::std::sync::Arc::new_zeroed_slice(len))
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// Mirrors `std::sync::Arc::assume_init`.
    ///
    /// # Safety
    /// As in `std`: the value is initialised.
    #[must_use = "`self` will be dropped if the result is not used"]
    #[inline]
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the caller's promise.
        Arc::wrap(unsafe { Arc::unwrap(self).assume_init() })
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// Mirrors `std::sync::Arc::assume_init`.
    ///
    /// # Safety
    /// As in `std`: the values are initialised.
    #[must_use = "`self` will be dropped if the result is not used"]
    #[inline]
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: the caller's promise.
        Arc::wrap(unsafe { Arc::unwrap(self).assume_init() })
    }
}

impl<T: ?Sized> Arc<T> {
    /// Mirrors `std::sync::Arc::from_raw`.
    ///
    /// # Safety
    /// As in `std`: the pointer came from `into_raw`, and its count is owned.
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: the caller's promise.
        Arc::wrap(unsafe { ::std::sync::Arc::from_raw(ptr) })
    }

    /// Mirrors `std::sync::Arc::into_raw`.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Self) -> *const T {
        ::std::sync::Arc::into_raw(Arc::unwrap(this))
    }

    /// Mirrors `std::sync::Arc::increment_strong_count`.
    ///
    /// # Safety
    /// As in `std`: the pointer came from `into_raw`, and the strong count is at least one throughout.
    #[inline]
    #[track_caller]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        count(ptr, Action::CountUp, None);
        // SAFETY: the caller's promise.
        unsafe { ::std::sync::Arc::increment_strong_count(ptr) };
    }

    /// Mirrors `std::sync::Arc::decrement_strong_count`.
    ///
    /// # Safety
    /// As in `std`: the pointer came from `into_raw`, and one count of it is given up.
    #[inline]
    #[track_caller]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(ptr) });
    }

    /// Mirrors `std::sync::Arc::as_ptr`.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        ::std::sync::Arc::as_ptr(&this.inner)
    }

    /// Mirrors `std::sync::Arc::downgrade`.
    #[must_use = "this returns a new `Weak` pointer, without modifying the original `Arc`"]
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        this.count(Action::CountUp);
        Weak::wrap(::std::sync::Arc::downgrade(&this.inner))
    }

    /// Mirrors `std::sync::Arc::weak_count`.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        this.count_read(Counts::Weak);
        ::std::sync::Arc::weak_count(&this.inner)
    }

    /// Mirrors `std::sync::Arc::strong_count`.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        door::note_registers();
        this.count_read(Counts::Strong);
        ::std::sync::Arc::strong_count(&this.inner)
    }

    /// Mirrors `std::sync::Arc::ptr_eq`.
    #[inline]
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        ::std::sync::Arc::ptr_eq(&this.inner, &other.inner)
    }

    /// Mirrors `std::sync::Arc::get_mut`.
    #[inline]
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.count(Action::CountRead);
        let data = ::std::sync::Arc::as_ptr(&this.inner);
        let value = ::std::sync::Arc::get_mut(&mut this.inner);
        if value.is_some() {
            door::count_last(header(data), Counts::Both);
        }
        value
    }

    /// Mirrors `std::sync::Arc::is_unique`.
    #[inline]
    #[track_caller]
    pub fn is_unique(this: &Self) -> bool {
        this.count(Action::CountRead);
        let inner = &this.inner;
        let is_unique =
            ::std::sync::Arc::strong_count(inner) == 1 && ::std::sync::Arc::weak_count(inner) == 0;
        if is_unique {
            door::count_last(header(::std::sync::Arc::as_ptr(inner)), Counts::Both);
        }
        is_unique
    }
}

impl<T: ?Sized + MakeMut> Arc<T> {
    /// Mirrors `std::sync::Arc::make_mut`. The bound stands for an unstable trait of `std`, and holds for the same
    /// types of `std`.
    #[inline]
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        let before = this.count_update(false);
        if ::std::sync::Arc::strong_count(&this.inner) == 1 {
            MakeMut::make_mut(&mut this.inner);
            if header(Arc::as_ptr(this)) != before {
                door::count_left(before, Counts::Both);
            }
        } else {
            // To clone the value may take steps, and this owner goes after that, in one more.
            *this = Arc::wrap(MakeMut::copy(&this.inner));
        }
        MakeMut::make_mut(&mut this.inner)
    }
}

/// A type that can be cloned behind a pointer.
#[doc(hidden)]
pub trait MakeMut {
    #[doc(hidden)]
    fn make_mut(inner: &mut ::std::sync::Arc<Self>) -> &mut Self;

    #[doc(hidden)]
    fn copy(inner: &Self) -> ::std::sync::Arc<Self>;
}

macro_rules! make_mut {
    ($([$($parameters:tt)*] $data:ty, $copy:expr;)*) => { $(
        impl<$($parameters)*> MakeMut for $data {
            #[inline]
            fn make_mut(inner: &mut ::std::sync::Arc<Self>) -> &mut Self {
                ::std::sync::Arc::make_mut(inner)
            }

            #[inline]
            fn copy(inner: &Self) -> ::std::sync::Arc<Self> {
                $copy(inner)
            }
        }
    )* };
}

make_mut! {
    [T: Clone] T, |data: &T| ::std::sync::Arc::new(data.clone());
    [T: Clone] [T], ::std::sync::Arc::from;
    [] str, ::std::sync::Arc::from;
    [] ::std::ffi::CStr, ::std::sync::Arc::from;
    [] ::std::ffi::OsStr, ::std::sync::Arc::from;
    [] ::std::path::Path, ::std::sync::Arc::from;
}

impl Arc<dyn Any + Send + Sync> {
    /// Mirrors `std::sync::Arc::downcast`.
    #[inline]
    pub fn downcast<T>(self) -> Result<Arc<T>, Self>
    where
        T: Any + Send + Sync,
    {
        match Arc::unwrap(self).downcast() {
            Ok(inner) => Ok(Arc::wrap(inner)),
            Err(inner) => Err(Arc::wrap(inner)),
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        self.count_strong(Action::CountUp);
        Arc::wrap(self.inner.clone())
    }
}

#[cfg(not(icb_coerce))]
impl<T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        self.count_down();
    }
}

#[cfg(icb_coerce)]
// SAFETY: the counts are touched, the value is not; the field drops it as `std` does.
unsafe impl<#[may_dangle] T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        self.count_down();
    }
}
