//! `thread_local!` and `LocalKey`. Modelled: every thread of an execution has its own values, made at their first use
//! and dropped when the thread ends, the latest first, as `std` does on Linux; those whose destructors do nothing can be used
//! to the end. Accesses are no steps: nobody else reaches the values. Not modelled: that some platforms drop the values in another order, or those of the main thread
//! not at all. Outside an execution a key is a thread-local of the real `std`.

use crate::door;
use ::std::cell::{Cell, RefCell};
use ::std::error::Error;
use ::std::fmt;
use ::std::sync::atomic::AtomicU8;

/// What names a key to the runtime: an address of its own. Mutable, so that no two are merged.
#[doc(hidden)]
pub struct Key {
    _content: AtomicU8,
}

impl Key {
    #[doc(hidden)]
    pub const fn new() -> Key {
        Key { _content: AtomicU8::new(0) }
    }
}

/// Mirrors `std::thread::LocalKey`.
pub struct LocalKey<T: 'static> {
    key: &'static Key,
    init: fn() -> T,
    real: &'static ::std::thread::LocalKey<T>,
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Mirrors `std::thread_local!`, in all its forms.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $t:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::__thread_local_key!([$(#[$attribute])*] [$vis] $name, $t, const $init);
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $t:ty = $init:expr $(; $($rest:tt)*)?) => {
        $crate::__thread_local_key!([$(#[$attribute])*] [$vis] $name, $t, $init);
        $($crate::thread_local!($($rest)*);)?
    };
}

/// One key of `thread_local!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_local_key {
    ([$($attribute:tt)*] [$vis:vis] $name:ident, $t:ty, $($init:tt)*) => {
        $($attribute)*
        $vis const $name: $crate::__private::LocalKey<$t> = {
            static KEY: $crate::__private::Key = $crate::__private::Key::new();
            fn init() -> $t {
                $($init)*
            }
            $crate::__private::std::thread_local! {
                static REAL: $t = init();
            }
            $crate::__private::LocalKey::__new(&KEY, init, &REAL)
        };
    };
}

/// Mirrors `std::thread::AccessError`.
#[non_exhaustive]
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt("already destroyed", f)
    }
}

impl Error for AccessError {}

#[cold]
#[track_caller]
fn panic_access_error(error: AccessError) -> ! {
    panic!("cannot access a Thread Local Storage value during or after destruction: {error:?}")
}

/// # Safety
/// `value` was made by `Box::<T>::into_raw`, and is owned.
unsafe fn drop_value<T>(value: *mut ()) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn __new(
        key: &'static Key,
        init: fn() -> T,
        real: &'static ::std::thread::LocalKey<T>,
    ) -> LocalKey<T> {
        LocalKey { key, init, real }
    }

    /// Mirrors `std::thread::LocalKey::with`.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic_access_error(error),
        }
    }

    /// Mirrors `std::thread::LocalKey::try_with`.
    #[inline]
    pub fn try_with<F, R>(&'static self, f: F) -> ::std::result::Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        if let Some(value) = self.modelled() {
            // SAFETY: the value under this key is a `Box<T>` that `install` made; the runtime drops it when the thread
            // ends, hence after `f`.
            return Ok(f(unsafe { &*value }));
        }
        if !door::active() {
            return self.real.try_with(f).map_err(|_| AccessError);
        }
        if door::local_destroyed(self.address()) {
            return Err(AccessError);
        }
        let value = self.install((self.init)());
        // SAFETY: as above.
        Ok(f(unsafe { &*value }))
    }

    fn address(&self) -> *const () {
        (&raw const *self.key).cast()
    }

    /// The value of the calling thread of an execution, if it has one.
    #[inline]
    fn modelled(&self) -> Option<*mut T> {
        door::local(self.address()).map(|value| value.cast::<T>())
    }

    /// Makes `value` the calling thread's, in an execution. If making it has made one already, that is replaced, as
    /// in `std`.
    fn install(&self, value: T) -> *mut T {
        if let Some(old) = self.modelled() {
            // SAFETY: as in `try_with`; no reference to the old value is alive but those that `std` would leave
            // dangling too.
            drop(unsafe { old.replace(value) });
            return old;
        }
        let value = Box::into_raw(Box::new(value));
        door::set_local(self.address(), value.cast(), drop_value::<T>, ::std::mem::needs_drop::<T>());
        value
    }

    /// `f` gets the thread's value, and `init` back if the thread had a value already.
    #[track_caller]
    fn initialize_with<F, R>(&'static self, init: T, f: F) -> R
    where
        F: FnOnce(Option<T>, &T) -> R,
    {
        if door::active() && self.modelled().is_none() {
            if door::local_destroyed(self.address()) {
                panic_access_error(AccessError);
            }
            let value = self.install(init);
            // SAFETY: as in `try_with`.
            return f(None, unsafe { &*value });
        }
        self.with(|value| f(Some(init), value))
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Mirrors `std::thread::LocalKey::set`.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if !door::active() {
            return self.real.set(value);
        }
        self.initialize_with(Cell::new(value), |value, cell| {
            if let Some(value) = value {
                cell.set(value.into_inner());
            }
        });
    }

    /// Mirrors `std::thread::LocalKey::get`.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Mirrors `std::thread::LocalKey::take`.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Mirrors `std::thread::LocalKey::replace`.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }

    /// Mirrors `std::thread::LocalKey::update`.
    #[track_caller]
    pub fn update(&'static self, f: impl FnOnce(T) -> T)
    where
        T: Copy,
    {
        self.with(|cell| cell.set(f(cell.get())));
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Mirrors `std::thread::LocalKey::with_borrow`.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Mirrors `std::thread::LocalKey::with_borrow_mut`.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Mirrors `std::thread::LocalKey::set`.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if !door::active() {
            return self.real.set(value);
        }
        self.initialize_with(RefCell::new(value), |value, cell| {
            if let Some(value) = value {
                *cell.borrow_mut() = value.into_inner();
            }
        });
    }

    /// Mirrors `std::thread::LocalKey::take`.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Mirrors `std::thread::LocalKey::replace`.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}
