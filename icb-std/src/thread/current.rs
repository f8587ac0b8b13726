//! Handles of threads: [`Thread`], [`ThreadId`], [`current`].

use crate::door;
use ::std::fmt;
use ::std::hash::{Hash, Hasher};
use ::std::sync::Arc;

/// Mirrors `std::thread::ThreadId`. In an execution threads are numbered from 1 in the order of their spawn.
#[derive(Eq, PartialEq, Clone, Copy, Hash)]
pub struct ThreadId(Id);

#[derive(Eq, PartialEq, Clone, Copy)]
enum Id {
    Real(::std::thread::ThreadId),
    /// The thread of an execution, and the epoch of that execution.
    Modelled(door::ThreadId, u32),
}

/// A thread hashes to the same in every execution, though its epoch is another one: what is spread by that hash stays where it was.
impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Id::Real(id) => id.hash(state),
            Id::Modelled(thread, _) => thread.hash(state),
        }
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Real(id) => id.fmt(f),
            Id::Modelled(thread, _) => f.debug_tuple("ThreadId").field(&(thread.index() + 1)).finish(),
        }
    }
}

/// Mirrors `std::thread::Thread`.
#[derive(Clone)]
pub struct Thread {
    inner: Inner,
}

#[derive(Clone)]
enum Inner {
    Real(::std::thread::Thread),
    Modelled { id: door::ThreadId, epoch: u32, name: Option<Arc<str>> },
}

impl Thread {
    pub(super) fn real(thread: ::std::thread::Thread) -> Thread {
        Thread { inner: Inner::Real(thread) }
    }

    /// A thread of the execution with this epoch.
    pub(super) fn modelled(id: door::ThreadId, epoch: u32, name: Option<Arc<str>>) -> Thread {
        Thread { inner: Inner::Modelled { id, epoch, name } }
    }

    /// The thread of an execution, and the epoch of that.
    #[inline]
    pub(super) fn modelled_as(&self) -> Option<(door::ThreadId, u32)> {
        match &self.inner {
            Inner::Real(_) => None,
            Inner::Modelled { id, epoch, .. } => Some((*id, *epoch)),
        }
    }

    /// In an execution its place in the order of spawns, from 0.
    #[doc(hidden)]
    #[must_use]
    pub fn __number(&self) -> Option<usize> {
        self.modelled_as().map(|(id, _)| id.index())
    }

    /// Waits until it has ended, if it is one of this execution. What it returned stays with its handle.
    #[doc(hidden)]
    #[track_caller]
    pub fn __wait(&self) {
        if let Some((id, epoch)) = self.modelled_as() {
            door::join(id, epoch);
        }
    }

    /// Mirrors `std::thread::Thread::unpark`.
    #[inline]
    #[track_caller]
    pub fn unpark(&self) {
        match &self.inner {
            Inner::Real(thread) => thread.unpark(),
            // A thread of an execution that has ended waits for nothing.
            Inner::Modelled { epoch, .. } if *epoch != door::epoch() => {}
            Inner::Modelled { id, .. } => door::unpark(*id),
        }
    }

    /// Mirrors `std::thread::Thread::id`.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.inner {
            Inner::Real(thread) => Id::Real(thread.id()),
            Inner::Modelled { id, epoch, .. } => Id::Modelled(*id, *epoch),
        })
    }

    /// Mirrors `std::thread::Thread::name`. The thread that runs a test closure is called `main`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.inner {
            Inner::Real(thread) => thread.name(),
            Inner::Modelled { id, .. } if *id == door::ThreadId::MAIN => Some("main"),
            Inner::Modelled { name, .. } => name.as_deref(),
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Mirrors `std::thread::current`.
#[must_use]
pub fn current() -> Thread {
    match door::current() {
        Some(id) => Thread::modelled(id, door::epoch(), door::thread_name()),
        None => Thread::real(::std::thread::current()),
    }
}
