//! `loom::thread`: the mirrored `std`. As loom's, what starts threads does not ask for anything to be `Send`: the threads of
//! an execution take turns on one thread of the system.

pub use icb_std::thread::*;

#[cfg(icb)]
pub use unsent::{Builder, JoinHandle, spawn};

#[cfg(icb)]
mod unsent {
    use icb_std::__private::active;
    use icb_std::thread::{self, Result, Thread};
    use std::fmt;
    use std::io;

    /// What never leaves the thread of the system that it is on.
    struct Unsent<T>(T);

    // SAFETY: `assert_modelled` has been called: all threads that it could be sent to are this thread of the system.
    unsafe impl<T> Send for Unsent<T> {}

    #[track_caller]
    fn assert_modelled() {
        assert!(active(), "a thread is started outside of `loom::model`");
    }

    /// Mirrors `loom::thread::spawn`.
    ///
    /// # Panics
    /// Outside of a model.
    #[track_caller]
    pub fn spawn<F, T>(f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        Builder::new().spawn(f).expect("failed to spawn thread")
    }

    /// Mirrors `loom::thread::Builder`.
    #[derive(Debug)]
    #[must_use = "must eventually spawn the thread"]
    pub struct Builder(thread::Builder);

    #[expect(clippy::new_without_default, reason = "loom's has no default either")]
    impl Builder {
        /// Mirrors `loom::thread::Builder::new`.
        pub fn new() -> Builder {
            Builder(thread::Builder::new())
        }

        /// Mirrors `loom::thread::Builder::name`.
        pub fn name(self, name: String) -> Builder {
            Builder(self.0.name(name))
        }

        /// Mirrors `loom::thread::Builder::stack_size`.
        pub fn stack_size(self, size: usize) -> Builder {
            Builder(self.0.stack_size(size))
        }

        /// Mirrors `loom::thread::Builder::spawn`.
        ///
        /// # Errors
        /// As `std`.
        ///
        /// # Panics
        /// Outside of a model.
        #[track_caller]
        pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + 'static,
            T: 'static,
        {
            assert_modelled();
            let f = Unsent(f);
            let run = move || {
                // The whole of it, not the part that is called.
                let whole = f;
                Unsent((whole.0)())
            };
            self.0.spawn(run).map(JoinHandle)
        }
    }

    /// Mirrors `loom::thread::JoinHandle`.
    pub struct JoinHandle<T>(thread::JoinHandle<Unsent<T>>);

    impl<T> JoinHandle<T> {
        /// Mirrors `loom::thread::JoinHandle::join`.
        ///
        /// # Errors
        /// What the thread panicked with.
        #[track_caller]
        pub fn join(self) -> Result<T> {
            self.0.join().map(|value| value.0)
        }

        /// Mirrors `loom::thread::JoinHandle::thread`.
        #[must_use]
        pub fn thread(&self) -> &Thread {
            self.0.thread()
        }

        /// Mirrors `std::thread::JoinHandle::is_finished`.
        #[track_caller]
        pub fn is_finished(&self) -> bool {
            self.0.is_finished()
        }
    }

    impl<T> fmt::Debug for JoinHandle<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }
}
