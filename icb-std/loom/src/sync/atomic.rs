//! `loom::sync::atomic`: the mirrored variables, with the methods that only loom's have.

pub use icb_std::sync::atomic::{Ordering, compiler_fence, fence};

use icb_std::sync::atomic as mirrored;
use std::fmt;
use std::ops::Deref;

/// Mirrors `loom::sync::atomic::spin_loop_hint`.
#[track_caller]
pub fn spin_loop_hint() {
    icb_std::hint::spin_loop();
}

macro_rules! atomic {
    ($([$($parameter:ident)?] $name:ident: $value:ty;)*) => { $(
        #[doc = concat!("Mirrors `loom::sync::atomic::", stringify!($name), "`: everything that std's has, and two methods.")]
        #[repr(transparent)]
        pub struct $name $(<$parameter>)? (mirrored::$name $(<$parameter>)?);

        impl $(<$parameter>)? $name $(<$parameter>)? {
            /// A variable with this value.
            #[inline]
            #[must_use]
            pub const fn new(value: $value) -> Self {
                Self(mirrored::$name::new(value))
            }

            /// The value, of which there is no other owner.
            #[inline]
            #[must_use]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// Runs `f` on the value, which nobody else can see.
            #[inline]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.0.get_mut())
            }

            /// Reads the value as plain memory; no step. It is checked against atomic operations where accesses to plain memory are (`--accesses`).
            ///
            /// # Safety
            /// Nobody may write at the same time.
            #[inline]
            #[must_use]
            pub unsafe fn unsync_load(&self) -> $value {
                // SAFETY: the caller's promise.
                unsafe { self.0.as_ptr().read() }
            }
        }

        impl $(<$parameter>)? Deref for $name $(<$parameter>)? {
            type Target = mirrored::$name $(<$parameter>)?;

            #[inline(always)]
            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl $(<$parameter>)? Default for $name $(<$parameter>)? {
            fn default() -> Self {
                Self(mirrored::$name::default())
            }
        }

        impl $(<$parameter>)? From<$value> for $name $(<$parameter>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl $(<$parameter>)? fmt::Debug for $name $(<$parameter>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )* };
}

atomic! {
    [] AtomicBool: bool;
    [] AtomicI8: i8;
    [] AtomicI16: i16;
    [] AtomicI32: i32;
    [] AtomicI64: i64;
    [] AtomicIsize: isize;
    [] AtomicU8: u8;
    [] AtomicU16: u16;
    [] AtomicU32: u32;
    [] AtomicU64: u64;
    [] AtomicUsize: usize;
    [T] AtomicPtr: *mut T;
}
