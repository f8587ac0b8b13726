//! `std::sync::atomic`. Modelled: every operation of every atomic type, each one step with its memory ordering, and
//! [`fence`]; `compare_exchange_weak` may fail spuriously. A load reads the newest value, whatever its ordering, and the orderings
//! decide what happens before what; with `Builder::weak_memory` it may also read older values that C++20 lets it read: those are put
//! into memory by the runtime for as long as the load takes. Not modelled: [`compiler_fence`], which orders nothing between threads, but where it
//! says that the exchange before it is a fence, on x86, or is meant to be one together with `membarrier(2)`.
//!
//! The types are `repr(transparent)` over `std`'s: valid when zeroed, castable from and to integers and `std`'s
//! atomics. What the runtime knows about a variable is keyed by its address. In an execution a value is read and
//! written by plain (relaxed) loads and stores: no other thread of the execution runs in between.

pub use ::std::sync::atomic::Ordering;

mod bool;
mod int;
mod ptr;

pub use bool::AtomicBool;
pub use int::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize,
};
pub use ptr::AtomicPtr;

use crate::door::{self, Action};

/// Mirrors `std::sync::atomic::ATOMIC_BOOL_INIT`.
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std declares it so")]
pub const ATOMIC_BOOL_INIT: AtomicBool = AtomicBool::new(false);

/// Mirrors `std::sync::atomic::ATOMIC_ISIZE_INIT`.
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std declares it so")]
pub const ATOMIC_ISIZE_INIT: AtomicIsize = AtomicIsize::new(0);

/// Mirrors `std::sync::atomic::ATOMIC_USIZE_INIT`.
#[deprecated(since = "1.34.0", note = "the `new` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std declares it so")]
pub const ATOMIC_USIZE_INIT: AtomicUsize = AtomicUsize::new(0);

/// Mirrors `std::sync::atomic::fence`.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    if let Ordering::Relaxed = order {
        panic!("there is no such thing as a relaxed fence")
    }
    if !door::fence(door::order(order)) {
        ::std::sync::atomic::fence(order);
    }
}

/// Mirrors `std::sync::atomic::compiler_fence`.
///
/// On x86 an exchange is a full barrier, as a `SeqCst` fence is, if the compiler moves nothing across it. Crates that want the fence (event-listener, crossbeam-epoch) write
/// that because it is faster, and for x86 only. Others write it where another thread calls `membarrier(2)`.
#[inline]
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    ::std::sync::atomic::compiler_fence(order);
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    if matches!(order, Ordering::SeqCst) && crate::membarrier::is_relied_on() {
        door::fence(door::Ordering::SeqCst);
        return;
    }
    if cfg!(any(target_arch = "x86", target_arch = "x86_64")) && matches!(order, Ordering::SeqCst) {
        door::fence_by_exchange();
    }
}

/// Mirrors `std::sync::atomic::spin_loop_hint`.
#[inline]
#[track_caller]
#[deprecated(since = "1.51.0", note = "use hint::spin_loop instead")]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

/// The operation of a load, or `std`'s panic for an ordering that a load cannot have.
#[inline]
#[track_caller]
const fn load_action(order: Ordering) -> Action {
    match order {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        _ => Action::Load(door::order(order)),
    }
}

/// The operation of a store, or `std`'s panic for an ordering that a store cannot have.
#[inline]
#[track_caller]
const fn store_action(order: Ordering) -> Action {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        _ => Action::Store(door::order(order)),
    }
}

/// The operation of a compare-exchange, or `std`'s panic for an ordering that a failure cannot have.
#[inline]
#[track_caller]
const fn exchange_action(weak: bool, success: Ordering, failure: Ordering) -> Action {
    match failure {
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release failure ordering"),
        Ordering::Release => panic!("there is no such thing as a release failure ordering"),
        _ => Action::CompareExchange { weak, success: door::order(success), failure: door::order(failure) },
    }
}

/// The failure ordering that the deprecated `compare_and_swap` implies.
#[inline]
const fn strongest_failure_ordering(order: Ordering) -> Ordering {
    match order {
        Ordering::SeqCst => Ordering::SeqCst,
        Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
        _ => Ordering::Relaxed,
    }
}

/// The methods that every atomic type has, in terms of the value type `$value`: loads, stores, exchanges, updates
/// and the views of the variable as plain memory. `$bits` turns a value into the bits that the runtime sees.
macro_rules! common_methods {
    ($atomic:ident, $value:ty, $bits:expr, [$($generics:tt)*], [$($arguments:tt)*]) => {
        impl $($generics)* $atomic $($arguments)* {
            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::new`.")]
            #[inline]
            #[must_use]
            pub const fn new(v: $value) -> Self {
                Self { real: ::std::sync::atomic::$atomic::new(v) }
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::from_ptr`.")]
            ///
            /// # Safety
            /// As in `std`: the pointer is aligned, valid for reads and writes for `'a`, and the memory is only
            /// accessed atomically where another thread could access it too.
            #[inline]
            pub const unsafe fn from_ptr<'a>(ptr: *mut $value) -> &'a Self {
                // SAFETY: the caller's promise; the layout is that of `std`'s atomic.
                unsafe { &*ptr.cast() }
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::get_mut`.")]
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.real.get_mut()
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::from_mut`.")]
            #[inline]
            #[cfg(target_pointer_width = "64")]
            pub const fn from_mut(v: &mut $value) -> &mut Self {
                const { assert!(align_of::<Self>() == align_of::<$value>()) };
                // SAFETY: the layout is that of the value, and the exclusive borrow is passed on.
                unsafe { &mut *(&raw mut *v).cast() }
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::get_mut_slice`.")]
            #[inline]
            pub const fn get_mut_slice(this: &mut [Self]) -> &mut [$value] {
                // SAFETY: the layout is that of the value, and the exclusive borrow is passed on.
                unsafe { &mut *(&raw mut *this as *mut [$value]) }
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::from_mut_slice`.")]
            #[inline]
            #[cfg(target_pointer_width = "64")]
            pub const fn from_mut_slice(v: &mut [$value]) -> &mut [Self] {
                const { assert!(align_of::<Self>() == align_of::<$value>()) };
                // SAFETY: the layout is that of the value, and the exclusive borrow is passed on.
                unsafe { &mut *(&raw mut *v as *mut [Self]) }
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::into_inner`.")]
            #[inline]
            pub const fn into_inner(self) -> $value {
                self.real.into_inner()
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::as_ptr`.")]
            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.real.as_ptr()
            }

            #[inline(always)]
            fn raw_load(&self) -> $value {
                // SAFETY: the variable is borrowed.
                unsafe { $crate::raw::load(self.real.as_ptr()) }
            }

            #[inline(always)]
            fn raw_store(&self, value: $value) {
                // SAFETY: the variable is borrowed.
                unsafe { $crate::raw::store(self.real.as_ptr(), value) };
            }

            /// The variable as the runtime names it.
            #[inline]
            fn target(&self) -> $crate::door::AtomicRef {
                $crate::door::AtomicRef {
                    address: (&raw const *self).cast(),
                    of: &$crate::door::AtomicType { size: size_of::<$value>(), name: stringify!($atomic) },
                }
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::load`.")]
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let action = super::load_action(order);
                let Some(step) = $crate::door::atomic(self.target(), action) else {
                    return self.real.load(order);
                };
                let value = self.raw_load();
                step.loaded($crate::door::order(order), $bits(value));
                value
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::store`.")]
            #[inline]
            #[track_caller]
            pub fn store(&self, val: $value, order: Ordering) {
                let action = super::store_action(order);
                let Some(step) = $crate::door::atomic(self.target(), action) else {
                    return self.real.store(val, order);
                };
                self.raw_store(val);
                step.stored($crate::door::order(order), $bits(val));
            }

            /// A read-modify-write that always writes: `new` in an execution, `real` outside.
            #[inline]
            #[track_caller]
            fn modify(
                &self,
                order: Ordering,
                new: impl FnOnce($value) -> $value,
                real: impl FnOnce(&::std::sync::atomic::$atomic $($arguments)*) -> $value,
            ) -> $value {
                let action = $crate::door::Action::ReadModifyWrite($crate::door::order(order));
                let Some(step) = $crate::door::atomic(self.target(), action) else {
                    return real(&self.real);
                };
                let old = self.raw_load();
                let new = new(old);
                self.raw_store(new);
                step.modified($crate::door::order(order), $bits(old), $bits(new));
                old
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::swap`.")]
            #[inline]
            #[track_caller]
            pub fn swap(&self, val: $value, order: Ordering) -> $value {
                self.modify(order, |_| val, |real| real.swap(val, order))
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::compare_and_swap`.")]
            #[inline]
            #[track_caller]
            #[deprecated(
                since = "1.50.0",
                note = "Use `compare_exchange` or `compare_exchange_weak` instead"
            )]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                match self.compare_exchange(current, new, order, super::strongest_failure_ordering(order)) {
                    Ok(old) | Err(old) => old,
                }
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::compare_exchange`.")]
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let action = super::exchange_action(false, success, failure);
                let step = $crate::door::atomic_exchange(self.target(), action, $bits(current));
                let Some(step) = step else {
                    return self.real.compare_exchange(current, new, success, failure);
                };
                self.exchange(step, current, new, [success, failure], false)
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::compare_exchange_weak`.")]
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let action = super::exchange_action(true, success, failure);
                let step = $crate::door::atomic_exchange(self.target(), action, $bits(current));
                let Some(step) = step else {
                    return self.real.compare_exchange_weak(current, new, success, failure);
                };
                // One that fails anyway need not be made to fail.
                let spurious = self.raw_load() == current && step.fails_spuriously();
                self.exchange(step, current, new, [success, failure], spurious)
            }

            #[inline]
            fn exchange(
                &self,
                step: $crate::door::AtomicStep,
                current: $value,
                new: $value,
                [success, failure]: [Ordering; 2],
                spurious: bool,
            ) -> Result<$value, $value> {
                let old = self.raw_load();
                if spurious {
                    step.failed_spuriously($crate::door::order(failure), $bits(old));
                    return Err(old);
                }
                if old != current {
                    step.loaded($crate::door::order(failure), $bits(old));
                    return Err(old);
                }
                self.raw_store(new);
                step.modified($crate::door::order(success), $bits(old), $bits(new));
                Ok(old)
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::fetch_update`.")]
            #[inline]
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.try_update(set_order, fetch_order, f)
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::try_update`.")]
            #[inline]
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut prev = self.load(fetch_order);
                while let Some(next) = f(prev) {
                    match self.compare_exchange_weak(prev, next, set_order, fetch_order) {
                        x @ Ok(_) => return x,
                        Err(next_prev) => prev = next_prev,
                    }
                }
                Err(prev)
            }

            #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::update`.")]
            #[inline]
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let mut prev = self.load(fetch_order);
                loop {
                    match self.compare_exchange_weak(prev, f(prev), set_order, fetch_order) {
                        Ok(x) => break x,
                        Err(next_prev) => prev = next_prev,
                    }
                }
            }
        }

        impl $($generics)* From<$value> for $atomic $($arguments)* {
            #[inline]
            fn from(v: $value) -> Self {
                Self::new(v)
            }
        }

        impl $($generics)* fmt::Debug for $atomic $($arguments)* {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }
    };
}
use common_methods;

/// One more read-modify-write method: its name, its value in an execution, and `std`'s method outside.
macro_rules! modify_methods {
    ($atomic:ident, $value:ty, $argument:ty: $($method:ident = $new:expr;)*) => { $(
        #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "::", stringify!($method), "`.")]
        #[inline]
        #[track_caller]
        pub fn $method(&self, val: $argument, order: Ordering) -> $value {
            self.modify(order, |old| $new(old, val), |real| real.$method(val, order))
        }
    )* };
}
use modify_methods;
