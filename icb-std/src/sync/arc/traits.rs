//! The traits of `Arc` that forward to the value, and those by which `Arc` and `Weak` coerce.

use super::Arc;
#[cfg(icb_coerce)]
use super::Weak;
use ::std::borrow::Borrow;
use ::std::cmp::Ordering;
use ::std::error::Error;
use ::std::fmt;
use ::std::fs::File;
use ::std::hash::{Hash, Hasher};
use ::std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use ::std::ops::Deref;

#[cfg(icb_coerce)]
mod coerce {
    use super::{Arc, Weak};
    use ::std::marker::Unsize;
    use ::std::ops::{CoerceUnsized, DispatchFromDyn, LegacyReceiver};
    #[cfg(icb_pin_coerce_unsized)]
    use ::std::pin::PinCoerceUnsized as PinSafePointer;
    // What the trait is called later.
    #[cfg(not(icb_pin_coerce_unsized))]
    use ::std::pin::PinSafePointer;

    impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Arc<U>> for Arc<T> {}
    impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Arc<U>> for Arc<T> {}
    impl<T: ?Sized> LegacyReceiver for Arc<T> {}
    impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Weak<U>> for Weak<T> {}
    impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Weak<U>> for Weak<T> {}
    // Not for `Weak`, as up to Rust 1.95: nobody can make a `Pin<Weak<T>>`, and from 1.97 on only what dereferences may be one.
    // SAFETY: the value that an `Arc` dereferences to is the same before and after a coercion, and stays where it is when the `Arc`
    // moves; dereferencing and cloning do not move it.
    unsafe impl<T: ?Sized> PinSafePointer for Arc<T> {}
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    #[inline]
    fn eq(&self, other: &Arc<T>) -> bool {
        self.inner == other.inner
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Arc<T>) -> Option<Ordering> {
        self.inner.partial_cmp(&other.inner)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Arc<T>) -> Ordering {
        self.inner.cmp(&other.inner)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.inner, f)
    }
}

impl<T: Error + ?Sized> Error for Arc<T> {
    #[allow(deprecated, reason = "std forwards it too")]
    fn cause(&self) -> Option<&dyn Error> {
        Error::cause(&**self)
    }

    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Error::source(&**self)
    }
}

impl Read for Arc<File> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&**self).read(buf)
    }
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&**self).read_vectored(bufs)
    }
    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        (&**self).read_to_end(buf)
    }
    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        (&**self).read_to_string(buf)
    }
}

impl Write for Arc<File> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&**self).write(buf)
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&**self).write_vectored(bufs)
    }
    fn flush(&mut self) -> io::Result<()> {
        (&**self).flush()
    }
}

impl Seek for Arc<File> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&**self).seek(pos)
    }
}

#[cfg(unix)]
mod unix {
    use super::Arc;
    use ::std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

    impl<T: AsFd + ?Sized> AsFd for Arc<T> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            (**self).as_fd()
        }
    }

    impl<T: AsRawFd> AsRawFd for Arc<T> {
        fn as_raw_fd(&self) -> RawFd {
            (**self).as_raw_fd()
        }
    }
}
