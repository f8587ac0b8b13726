//! `spawn`, `Builder`, `JoinHandle`.

use super::packet::{JoinInner, spawn_unchecked};
use super::scope::{Scope, ScopedJoinHandle};
use super::{Result, Thread};
use crate::door;
use ::std::fmt;
use ::std::io;

/// Mirrors `std::thread::spawn`.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T,
    F: Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Mirrors `std::thread::Builder`.
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

#[expect(clippy::new_without_default, reason = "std's has no default either")]
impl Builder {
    /// Mirrors `std::thread::Builder::new`.
    pub fn new() -> Builder {
        Builder { name: None, stack_size: None }
    }

    /// Mirrors `std::thread::Builder::name`.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Mirrors `std::thread::Builder::stack_size`.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Mirrors `std::thread::Builder::spawn`.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T,
        F: Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: what is `'static` outlives every thread.
        unsafe { self.spawn_unchecked(f) }
    }

    /// Mirrors `std::thread::Builder::spawn_unchecked`.
    ///
    /// # Safety
    /// As in `std`: what the closure borrows outlives the thread.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T,
        F: Send,
        T: Send,
    {
        // SAFETY: the caller's promise.
        Ok(JoinHandle(unsafe { spawn_unchecked(self.name, self.stack_size, None, f) }?))
    }

    /// Mirrors `std::thread::Builder::spawn_scoped`.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the scope does not end before its threads have ended.
        let inner = unsafe { spawn_unchecked(self.name, self.stack_size, Some(scope.data()), f) }?;
        Ok(ScopedJoinHandle::new(inner))
    }
}

/// Mirrors `std::thread::JoinHandle`.
pub struct JoinHandle<T>(JoinInner<'static, T>);

// SAFETY: as in `std`: the result is taken by one thread, once, and `spawn` asks `T: Send`.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no access to the result.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Mirrors `std::thread::JoinHandle::thread`.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        door::handle_used(self);
        self.0.thread()
    }

    /// Mirrors `std::thread::JoinHandle::join`.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Mirrors `std::thread::JoinHandle::is_finished`.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        door::handle_used(self);
        self.0.is_finished()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Builder");
        debug
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .field("no_hooks", &false)
            .finish()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

#[cfg(unix)]
mod unix {
    use super::JoinHandle;
    use ::std::os::unix::thread::{JoinHandleExt, RawPthread};

    /// A thread of an execution has no thread of the operating system to name: these panic for it.
    impl<T> JoinHandleExt for JoinHandle<T> {
        #[track_caller]
        fn as_pthread_t(&self) -> RawPthread {
            self.0.real().as_pthread_t()
        }

        #[track_caller]
        fn into_pthread_t(self) -> RawPthread {
            self.0.into_real().into_pthread_t()
        }
    }
}
