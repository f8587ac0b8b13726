//! The threads' slots, which later executions use again. A slot never moves, so that the one of the running thread, which
//! every operation asks for, is known by its address.

use super::threads::Thread;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// Slots by the number of their thread. There is always one.
pub(crate) struct Slots {
    all: Vec<NonNull<Thread>>,
    /// One of `all`: the running thread's.
    mine: NonNull<Thread>,
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Slots {
    /// The slot of the main thread, which is the running one.
    pub(crate) fn new() -> Self {
        let mine = fresh();
        Slots { all: vec![mine], mine }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// One more.
    #[cold]
    pub(crate) fn grow(&mut self) {
        super::allocator::aside(|| self.all.push(fresh()));
    }

    /// This thread runs from now on.
    #[inline]
    pub(crate) fn run(&mut self, thread: usize) {
        self.mine = self.all[thread];
    }

    /// The running thread.
    #[inline(always)]
    pub(crate) fn mine(&mut self) -> &mut Thread {
        // SAFETY: allocated in `fresh` and freed in `drop`; references to it are made only here, of a `Slots` that is borrowed
        // for as long.
        unsafe { self.mine.as_mut() }
    }

    /// Two different threads.
    #[inline]
    pub(crate) fn pair(&mut self, one: usize, other: usize) -> Option<(&mut Thread, &mut Thread)> {
        if one == other {
            return None;
        }
        let (mut one, mut other) = (self.all[one], self.all[other]);
        // SAFETY: as in `mine`; two different slots are two different allocations.
        Some(unsafe { (one.as_mut(), other.as_mut()) })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Thread> {
        // SAFETY: as in `mine`.
        self.all.iter().map(|slot| unsafe { slot.as_ref() })
    }
}

fn fresh() -> NonNull<Thread> {
    NonNull::from(Box::leak(Box::<Thread>::default()))
}

impl Index<usize> for Slots {
    type Output = Thread;

    #[inline]
    fn index(&self, thread: usize) -> &Thread {
        // SAFETY: as in `mine`.
        unsafe { self.all[thread].as_ref() }
    }
}

impl IndexMut<usize> for Slots {
    #[inline]
    fn index_mut(&mut self, thread: usize) -> &mut Thread {
        // SAFETY: as in `mine`.
        unsafe { self.all[thread].as_mut() }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for slot in &self.all {
            // SAFETY: it came from a box, and nobody can ask for it any more.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}
