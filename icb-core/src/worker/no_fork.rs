//! What `fork.rs` is where there are no forks.

use crate::trace::Death;
use std::time::Duration;

/// Nobody tells any.
#[derive(Debug)]
pub(super) struct Facts;

impl Facts {
    /// There is nobody to share them with.
    pub(super) fn new() -> Option<Facts> {
        None
    }

    /// Nobody asks for them.
    pub(super) fn tell(&self, _: u32) {}

    /// None.
    pub(super) fn told(&self) -> u32 {
        0
    }
}

/// Why a fork has told nothing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Untold {
    /// It could not be made.
    NotBegun,
    /// It has ended before: never.
    Died,
}

/// It cannot be made.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn in_a_fork<T: Copy>(_: Duration, _: impl FnOnce() -> Vec<T>) -> Result<Vec<T>, Untold> {
    Err(Untold::NotBegun)
}

/// Ends this process when the work is done.
pub(super) fn do_and_end(work: impl FnOnce()) -> ! {
    work();
    std::process::exit(0)
}

/// It cannot be made.
pub(super) fn in_a_fork_to_bytes(_: Duration, _: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, Untold> {
    Err(Untold::NotBegun)
}

/// What would be left of a fork.
#[derive(Debug)]
pub(super) struct Left<T> {
    /// What it has said.
    pub(super) said: Vec<Vec<T>>,
    /// How it has ended.
    pub(super) death: Option<Death>,
}

/// It cannot be made.
///
/// # Safety
/// None is needed.
pub(super) unsafe fn in_a_fork_that_may_die<T: Copy>(
    _: Duration,
    _: impl FnOnce(&dyn Fn(&[T])),
) -> Option<Left<T>> {
    None
}

/// A fork that would wait until it is asked something.
#[derive(Debug)]
pub(super) struct Asked<Q>(std::convert::Infallible, std::marker::PhantomData<Q>);

impl<Q: Copy> Asked<Q> {
    /// It cannot be made.
    ///
    /// # Safety
    /// None is needed.
    pub(super) unsafe fn new(_: impl FnOnce(&[Q]) -> Vec<u8>) -> Option<Self> {
        None
    }

    /// There is nobody to ask.
    pub(super) fn ask(self, _: &[Q], _: Duration) -> Option<Vec<u8>> {
        match self.0 {}
    }
}
