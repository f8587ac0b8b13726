//! Handles of threads: [`Thread`], [`ThreadId`], [`current`].

use crate::door;
use ::std::fmt;
use ::std::sync::Arc;

/// Mirrors `std::thread::ThreadId`. In an execution threads are numbered from 1 in the order of their spawn.
#[derive(Eq, PartialEq, Clone, Copy, Hash)]
pub struct ThreadId(Id);

#[derive(Eq, PartialEq, Clone, Copy, Hash)]
enum Id {
    Real(::std::thread::ThreadId),
    /// The thread of an execution, and the epoch of that execution.
    Modelled(door::ThreadId, u32),
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
    Modelled(Arc<Modelled>),
}

struct Modelled {
    id: door::ThreadId,
    epoch: u32,
    name: Option<Box<str>>,
}

impl Thread {
    pub(super) fn real(thread: ::std::thread::Thread) -> Thread {
        Thread { inner: Inner::Real(thread) }
    }

    /// A thread of the running execution.
    pub(super) fn modelled(id: door::ThreadId, name: Option<&str>) -> Thread {
        let name = name.map(Box::from);
        Thread { inner: Inner::Modelled(Arc::new(Modelled { id, epoch: door::epoch(), name })) }
    }

    /// Mirrors `std::thread::Thread::unpark`.
    #[inline]
    #[track_caller]
    pub fn unpark(&self) {
        match &self.inner {
            Inner::Real(thread) => thread.unpark(),
            // A thread of an execution that has ended waits for nothing.
            Inner::Modelled(thread) if thread.epoch != door::epoch() => {}
            Inner::Modelled(thread) => door::unpark(thread.id),
        }
    }

    /// Mirrors `std::thread::Thread::id`.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.inner {
            Inner::Real(thread) => Id::Real(thread.id()),
            Inner::Modelled(thread) => Id::Modelled(thread.id, thread.epoch),
        })
    }

    /// Mirrors `std::thread::Thread::name`. The thread that runs a test closure is called `main`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.inner {
            Inner::Real(thread) => thread.name(),
            Inner::Modelled(thread) => thread.name.as_deref(),
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The key of the calling thread's own handle among the runtime's thread-local values. Its content is never read;
/// being mutable, it has an address of its own.
static CURRENT: ::std::sync::atomic::AtomicU8 = ::std::sync::atomic::AtomicU8::new(0);

fn current_key() -> *const () {
    (&raw const CURRENT).cast()
}

/// Mirrors `std::thread::current`.
#[must_use]
pub fn current() -> Thread {
    let Some(id) = door::current() else {
        return Thread::real(::std::thread::current());
    };
    if let Some(thread) = door::local(current_key()) {
        // SAFETY: the value under this key is a `Box<Thread>` that `set_current` made; it lives until the runtime
        // drops it, and the reference ends here.
        return unsafe { (*thread.cast::<Thread>()).clone() };
    }
    let name = if id == door::ThreadId::MAIN { Some("main") } else { None };
    let thread = Thread::modelled(id, name);
    set_current(thread.clone());
    thread
}

/// Makes `thread` the calling thread's own handle.
pub(super) fn set_current(thread: Thread) {
    /// # Safety
    /// `thread` was made by `Box::into_raw`, and is owned.
    unsafe fn drop_thread(thread: *mut ()) {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(thread.cast::<Thread>()) });
    }
    if door::local_destroyed(current_key()) {
        return;
    }
    let value = Box::into_raw(Box::new(thread)).cast();
    if !door::set_local(current_key(), value, drop_thread) {
        // SAFETY: nobody has taken the value.
        unsafe { drop_thread(value) };
    }
}
