//! Handles of threads: [`Thread`], [`ThreadId`], [`current`].

use crate::door;
use ::std::fmt;
use ::std::hash::{Hash, Hasher};
use ::std::num::NonZero;
use ::std::ptr::NonNull;
use ::std::sync::{Arc, OnceLock};

/// What the first thread of executions is called, if it is not `main`.
static FIRST: OnceLock<Box<str>> = OnceLock::new();

/// Names the first thread of all executions to come, once and for all.
pub(crate) fn name_first(name: &str) {
    FIRST.get_or_init(|| name.into());
}

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
            Id::Modelled(thread, epoch) => {
                f.debug_tuple("ThreadId").field(&door::look_at_thread_number(thread, epoch)).finish()
            }
        }
    }
}

/// Mirrors `std::thread::Thread`, and is as large: there are crates that count on it, and that keep one in a pointer.
pub struct Thread {
    /// A [`Held`] in a box of its own, or the numbers themselves, of which the lowest bit is set.
    inner: NonNull<()>,
}

/// A thread that has more to it than numbers.
#[derive(Clone)]
enum Held {
    Real(::std::thread::Thread),
    Modelled(Modelled),
}

/// A thread of the execution with this epoch.
#[derive(Clone)]
struct Modelled {
    id: door::ThreadId,
    epoch: u32,
    name: Option<Arc<str>>,
}

/// What a handle stands for.
enum View<'a> {
    Real(&'a ::std::thread::Thread),
    Modelled(door::ThreadId, u32, Option<&'a str>),
}

// SAFETY: a number, or a box that is owned and shared as what is in it, which is `Send`.
unsafe impl Send for Thread where Held: Send {}
// SAFETY: the same.
unsafe impl Sync for Thread where Held: Sync {}

impl Clone for Thread {
    #[inline]
    fn clone(&self) -> Thread {
        door::handle_used(self);
        match self.held() {
            Some(held) => Thread::hold(held.clone()),
            None => Thread { inner: self.inner },
        }
    }
}

impl Drop for Thread {
    #[inline]
    fn drop(&mut self) {
        door::handle_used(self);
        if self.held().is_some() {
            // SAFETY: `hold` has made it from a box, and every handle has its own.
            drop(unsafe { Box::from_raw(self.inner.cast::<Held>().as_ptr()) });
        }
    }
}

impl Thread {
    pub(super) fn real(thread: ::std::thread::Thread) -> Thread {
        Thread::hold(Held::Real(thread))
    }

    /// A thread of the execution with this epoch.
    #[inline]
    pub(super) fn modelled(id: door::ThreadId, epoch: u32, name: Option<Arc<str>>) -> Thread {
        match numbers(id, epoch) {
            Some(inner) if name.is_none() => Thread { inner },
            _ => Thread::hold(Held::Modelled(Modelled { id, epoch, name })),
        }
    }

    fn hold(held: Held) -> Thread {
        Thread { inner: NonNull::from(Box::leak(Box::new(held))).cast() }
    }

    #[inline]
    fn held(&self) -> Option<&Held> {
        // SAFETY: what is no number points to a box that lives as long as the handle.
        (self.inner.addr().get() & 1 == 0).then(|| unsafe { self.inner.cast::<Held>().as_ref() })
    }

    #[inline]
    fn view(&self) -> View<'_> {
        match self.held() {
            Some(Held::Real(thread)) => View::Real(thread),
            Some(Held::Modelled(Modelled { id, epoch, name })) => {
                View::Modelled(*id, *epoch, name.as_deref())
            }
            None => {
                let numbers = self.inner.addr().get() as u64;
                let index = (numbers & u64::from(u32::MAX)) >> 1;
                View::Modelled(door::ThreadId::new(index as usize), (numbers >> 32) as u32, None)
            }
        }
    }

    /// The thread of an execution, and the epoch of that.
    #[inline]
    pub(super) fn modelled_as(&self) -> Option<(door::ThreadId, u32)> {
        match self.view() {
            View::Real(_) => None,
            View::Modelled(id, epoch, _) => Some((id, epoch)),
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
        door::handle_used(self);
        self.wake();
    }

    /// The same on behalf of the mirrored library.
    #[inline]
    #[track_caller]
    pub(super) fn wake(&self) {
        match self.view() {
            View::Real(thread) => thread.unpark(),
            // A thread of an execution that has ended waits for nothing.
            View::Modelled(_, epoch, _) if epoch != door::epoch() => {}
            View::Modelled(id, ..) => door::unpark(id),
        }
    }

    /// Mirrors `std::thread::Thread::id`.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        door::handle_used(self);
        ThreadId(match self.view() {
            View::Real(thread) => Id::Real(thread.id()),
            View::Modelled(id, epoch, _) => Id::Modelled(id, epoch),
        })
    }

    /// Mirrors `std::thread::Thread::name`. The thread that runs a test closure is called `main`; the one of a test that knows nothing of
    /// icb, as by Rust's own harness, like the test.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        door::handle_used(self);
        match self.view() {
            View::Real(thread) => thread.name(),
            View::Modelled(door::ThreadId::MAIN, ..) => Some(FIRST.get().map_or("main", |name| name)),
            View::Modelled(_, _, name) => name,
        }
    }
}

/// The numbers of a thread as an address that nothing can lie at, if they fit into one.
#[inline]
fn numbers(id: door::ThreadId, epoch: u32) -> Option<NonNull<()>> {
    let index = u32::try_from(id.index()).ok().filter(|index| *index <= u32::MAX >> 1)?;
    let numbers = usize::try_from(u64::from(epoch) << 32 | u64::from(index << 1 | 1)).ok()?;
    Some(NonNull::without_provenance(NonZero::new(numbers)?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_as_large_as_that_of_std() {
        assert_eq!(size_of::<Option<Thread>>(), size_of::<Option<::std::thread::Thread>>());
    }

    #[test]
    fn numbers_and_names_come_back() {
        let id = door::ThreadId::new;
        for (index, epoch) in [(0, 1), (1, u32::MAX), (70_000, 7), (u32::MAX as usize >> 1, 1)] {
            for name in [None, Some("n")] {
                let thread = Thread::modelled(id(index), epoch, name.map(Arc::from)).clone();
                assert_eq!(thread.modelled_as(), Some((id(index), epoch)));
                assert_eq!(thread.name(), if index == 0 { Some("main") } else { name });
            }
        }
        let here = ::std::thread::current();
        let thread = Thread::real(here.clone()).clone();
        assert_eq!((thread.name(), thread.modelled_as()), (here.name(), None));
    }
}
