//! `shuttle::thread`: the mirrored `std`. An execution ends when its threads have, joined or not.

pub use icb_std::thread::*;

use crate::current;
use crate::world::{self, Started};
use icb_std::thread as mirrored;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Mirrors `shuttle::thread::spawn`.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Mirrors `shuttle::thread::Builder`.
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Mirrors `Builder::new`.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Mirrors `Builder::name`.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Mirrors `Builder::stack_size`.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Mirrors `Builder::spawn`.
    ///
    /// # Errors
    /// As `std`.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let mut builder = mirrored::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        let parent = current::labels_to_inherit();
        let thread = builder.spawn(move || {
            current::inherit(parent, self.name);
            f()
        })?;
        let joined = Arc::new(AtomicBool::new(false));
        world::add(Started::Thread(thread.thread().clone(), joined.clone()));
        Ok(JoinHandle { thread, joined })
    }
}

/// Mirrors `shuttle::thread::JoinHandle`.
pub struct JoinHandle<T> {
    thread: mirrored::JoinHandle<T>,
    joined: Arc<AtomicBool>,
}

impl<T> JoinHandle<T> {
    /// Mirrors `JoinHandle::join`.
    ///
    /// # Errors
    /// What the thread panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        let result = self.thread.join();
        self.joined.store(true, Ordering::Relaxed);
        result
    }

    /// Mirrors `JoinHandle::thread`.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.thread.thread()
    }

    /// Mirrors `std::thread::JoinHandle::is_finished`.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.thread.fmt(f)
    }
}
