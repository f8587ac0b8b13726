//! The ways in which an `Arc` is made from other things; all of them make a new allocation, or keep one, and are no
//! steps.

use super::Arc;
use ::std::borrow::Cow;
use ::std::ffi::{CStr, CString, OsStr, OsString};
use ::std::path::{Path, PathBuf};
use ::std::pin::Pin;

/// Conversions that are `std`'s own, wrapped.
macro_rules! forward_from {
    ($([$($parameters:tt)*] $source:ty => $data:ty;)*) => { $(
        impl<$($parameters)*> From<$source> for Arc<$data> {
            #[inline]
            fn from(value: $source) -> Arc<$data> {
                Arc::wrap(::std::sync::Arc::from(value))
            }
        }
    )* };
}

forward_from! {
    [T] T => T;
    [T, const N: usize] [T; N] => [T];
    [T: Clone] &[T] => [T];
    [T: Clone] &mut [T] => [T];
    [] &str => str;
    [] &mut str => str;
    [] String => str;
    [T: ?Sized] Box<T> => T;
    [T] Vec<T> => [T];
    [] &CStr => CStr;
    [] &mut CStr => CStr;
    [] CString => CStr;
    [] &OsStr => OsStr;
    [] &mut OsStr => OsStr;
    [] OsString => OsStr;
    [] &Path => Path;
    [] &mut Path => Path;
    [] PathBuf => Path;
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ToOwned + ?Sized,
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[inline]
    fn from(cow: Cow<'a, B>) -> Arc<B> {
        match cow {
            Cow::Borrowed(value) => Arc::from(value),
            Cow::Owned(value) => Arc::from(value),
        }
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    #[inline]
    fn from(value: Arc<str>) -> Arc<[u8]> {
        Arc::wrap(::std::sync::Arc::from(Arc::unwrap(value)))
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(slice: Arc<[T]>) -> Result<Self, Self::Error> {
        match <::std::sync::Arc<[T; N]>>::try_from(Arc::unwrap(slice)) {
            Ok(inner) => Ok(Arc::wrap(inner)),
            Err(inner) => Err(Arc::wrap(inner)),
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Arc::wrap(iter.into_iter().collect())
    }
}

/// Defaults that are `std`'s own, wrapped.
macro_rules! forward_default {
    ($([$($parameters:tt)*] $data:ty;)*) => { $(
        impl<$($parameters)*> Default for Arc<$data> {
            #[inline]
            fn default() -> Arc<$data> {
                Arc::wrap(Default::default())
            }
        }
    )* };
}

forward_default! {
    [T: Default] T;
    [T] [T];
    [] str;
    [] CStr;
}

impl<T> Default for Pin<Arc<T>>
where
    T: ?Sized,
    Arc<T>: Default,
{
    #[inline]
    fn default() -> Self {
        // SAFETY: as for `Arc::pin`.
        unsafe { Pin::new_unchecked(Arc::<T>::default()) }
    }
}
