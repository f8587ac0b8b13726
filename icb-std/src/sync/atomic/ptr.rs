//! `AtomicPtr`.

use super::{Ordering, common_methods, modify_methods};
use ::std::fmt;

/// Mirrors `std::sync::atomic::AtomicPtr`, with the same layout.
#[repr(transparent)]
pub struct AtomicPtr<T> {
    real: ::std::sync::atomic::AtomicPtr<T>,
}

common_methods!(AtomicPtr, *mut T, (|value: *mut T| value.addr() as u64), [<T>], [<T>]);

impl<T> AtomicPtr<T> {
    modify_methods! { AtomicPtr, *mut T, usize:
        fetch_ptr_add = <*mut T>::wrapping_add;
        fetch_ptr_sub = <*mut T>::wrapping_sub;
        fetch_byte_add = <*mut T>::wrapping_byte_add;
        fetch_byte_sub = <*mut T>::wrapping_byte_sub;
        fetch_or = |old: *mut T, val: usize| old.map_addr(|addr| addr | val);
        fetch_and = |old: *mut T, val: usize| old.map_addr(|addr| addr & val);
        fetch_xor = |old: *mut T, val: usize| old.map_addr(|addr| addr ^ val);
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> AtomicPtr<T> {
        AtomicPtr::new(::std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}
