//! `loom::future`: running a future on a thread of a model.

use crate::sync::{Mutex, Notify};
use icb_std::sync::{Arc, TryLockError};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// Mirrors `loom::future::block_on`: polls `future` until it is ready; in between, the thread waits for its waker. It may be
/// polled although nobody has woken it, at a cost of 1 against the bound.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let notify = Arc::new(Notify::new());
    let waker = waker(notify.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        notify.wait();
    }
}

/// A waker that notifies.
fn waker(notify: Arc<Notify>) -> Waker {
    // SAFETY: the functions of the table treat the pointer as the `Arc` that it was made from, as the contract of `RawWaker`
    // asks, and `Notify` is `Send` and `Sync`.
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(notify).cast(), &TABLE)) }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

/// # Safety
/// `data` was made by `Arc::into_raw` and has not been released.
unsafe fn borrowed(data: *const ()) -> ManuallyDrop<Arc<Notify>> {
    // SAFETY: the caller's promise; the count stays what it is.
    ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Notify>()) })
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called by a waker that lives.
    let notify = unsafe { borrowed(data) };
    RawWaker::new(Arc::into_raw(Arc::clone(&notify)).cast(), &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: called by a waker that lives, and ends with this.
    let notify = unsafe { Arc::from_raw(data.cast::<Notify>()) };
    notify.notify();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: called by a waker that lives.
    unsafe { borrowed(data) }.notify();
}

unsafe fn release(data: *const ()) {
    // SAFETY: called by a waker that lives, and ends with this.
    drop(unsafe { Arc::from_raw(data.cast::<Notify>()) });
}

/// Mirrors `loom::future::AtomicWaker`: a place for the waker of a task.
#[derive(Debug, Default)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Mirrors `loom::future::AtomicWaker::new`.
    #[must_use]
    pub fn new() -> AtomicWaker {
        AtomicWaker::default()
    }

    /// Mirrors `loom::future::AtomicWaker::register`: if somebody is just taking the waker, this one is woken instead.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        match self.waker.try_lock() {
            Ok(mut place) => *place = Some(waker),
            Err(TryLockError::Poisoned(place)) => *place.into_inner() = Some(waker),
            Err(TryLockError::WouldBlock) => {
                waker.wake();
                crate::thread::yield_now();
            }
        }
    }

    /// Mirrors `loom::future::AtomicWaker::register_by_ref`.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Mirrors `loom::future::AtomicWaker::wake`.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Mirrors `loom::future::AtomicWaker::take_waker`.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}
