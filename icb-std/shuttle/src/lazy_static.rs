//! `shuttle::lazy_static`: statics that are made when they are first used, anew in each execution.

use icb_std::sync::LazyLock;
use std::fmt;

pub use crate::lazy_static;

#[doc(hidden)]
pub use std::ops::Deref as __Deref;

/// Mirrors `shuttle::lazy_static::Lazy`.
pub struct Lazy<T: Sync> {
    value: LazyLock<T>,
}

impl<T: Sync> Lazy<T> {
    /// Mirrors `Lazy::new`.
    pub const fn new(init: fn() -> T) -> Lazy<T> {
        Lazy { value: LazyLock::new(init) }
    }

    /// Mirrors `Lazy::get`.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        LazyLock::force(&self.value)
    }
}

impl<T: Sync> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// Mirrors `shuttle::lazy_static::LazyStatic`.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Mirrors `shuttle::lazy_static::initialize`: makes the value, if it is not there yet.
#[track_caller]
pub fn initialize<T: LazyStatic>(lazy: &T) {
    T::initialize(lazy);
}

/// Mirrors `shuttle::lazy_static!`.
#[macro_export]
macro_rules! lazy_static {
    ($(#[$attributes:meta])* static ref $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attributes])* () static ref $($rest)*);
    };
    ($(#[$attributes:meta])* pub static ref $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attributes])* (pub) static ref $($rest)*);
    };
    ($(#[$attributes:meta])* pub ($($scope:tt)+) static ref $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attributes])* (pub ($($scope)+)) static ref $($rest)*);
    };
    () => ();
}

#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ($(#[$attributes:meta])* ($($scope:tt)*) static ref $name:ident : $type:ty = $init:expr; $($rest:tt)*) => {
        $(#[$attributes])*
        #[allow(non_camel_case_types, missing_copy_implementations, dead_code)]
        $($scope)* struct $name { __private: () }
        #[doc(hidden)]
        $($scope)* static $name: $name = $name { __private: () };
        impl ::core::ops::Deref for $name {
            type Target = $type;
            fn deref(&self) -> &$type {
                static LAZY: $crate::lazy_static::Lazy<$type> = {
                    fn init() -> $type { $init }
                    $crate::lazy_static::Lazy::new(init)
                };
                LAZY.get()
            }
        }
        impl $crate::lazy_static::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                let _ = ::core::ops::Deref::deref(lazy);
            }
        }
        $crate::lazy_static!($($rest)*);
    };
}
