//! `shuttle::future::batch_semaphore`: a semaphore for tasks and threads, whose state is under one mutex of the model.
//!
//! A fair one hands permits to those who wait in the order in which they came; one that is not wakes everybody for whom there
//! are enough, and they race. Not here: signatures and causal clocks.

use icb_std::sync::{Mutex, PoisonError};
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Mirrors `batch_semaphore::Fairness`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// Who came first is served first.
    StrictlyFair,
    /// Whoever is there.
    Unfair,
}

/// Mirrors `batch_semaphore::TryAcquireError`.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are not enough permits.
    NoPermits,
}

/// Mirrors `batch_semaphore::AcquireError`: the semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl Error for AcquireError {}

/// Where a request stands among those that wait at a fair semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Back,
    /// At the back, and later ones may pass while there is too little for it.
    Bypassable,
    Front,
}

/// A request that has to wait.
struct Waiter {
    number: u64,
    wanted: usize,
    /// What has to be there before it can go on in any way.
    min: usize,
    place: Place,
    waker: Waker,
}

#[derive(Default)]
struct State {
    available: usize,
    is_closed: bool,
    waiters: VecDeque<Waiter>,
    /// For whom all permits are kept.
    reservation: Option<Waiter>,
    /// Requests that have been given permits, and do not know yet.
    granted: Vec<u64>,
    next_number: u64,
}

impl State {
    fn can_take(&self, wanted: usize, place: Place, fairness: Fairness) -> bool {
        let may = fairness == Fairness::Unfair
            || place == Place::Front
            || self.waiters.iter().all(|waiter| waiter.place == Place::Bypassable);
        self.reservation.is_none() && may && self.available >= wanted
    }

    /// Gives permits to those who wait at a fair semaphore, as far as there are any.
    fn grant(&mut self, woken: &mut Vec<Waker>) {
        let mut index = 0;
        while let Some(waiter) = self.waiters.get(index) {
            if waiter.wanted <= self.available {
                self.available -= waiter.wanted;
                self.granted.push(waiter.number);
                woken.extend(self.waiters.remove(index).map(|waiter| waiter.waker));
            } else if waiter.place == Place::Bypassable {
                index += 1;
            } else {
                return;
            }
        }
    }

    /// Those who could go on now.
    fn woken(&mut self, fairness: Fairness) -> Vec<Waker> {
        let mut woken = Vec::new();
        match (&self.reservation, fairness) {
            (Some(holder), _) => {
                woken.extend((holder.wanted <= self.available).then(|| holder.waker.clone()));
            }
            (None, Fairness::StrictlyFair) => self.grant(&mut woken),
            (None, Fairness::Unfair) => {
                let able = self.waiters.iter().filter(|waiter| waiter.min <= self.available);
                woken.extend(able.map(|waiter| waiter.waker.clone()));
            }
        }
        woken
    }

    fn is_reserved_by(&self, number: u64) -> bool {
        self.reservation.as_ref().is_some_and(|waiter| waiter.number == number)
    }
}

/// Mirrors `batch_semaphore::BatchSemaphore`.
pub struct BatchSemaphore {
    state: Mutex<State>,
    fairness: Fairness,
}

impl BatchSemaphore {
    /// Mirrors `BatchSemaphore::new`.
    #[must_use]
    pub fn new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        BatchSemaphore::const_new(num_permits, fairness)
    }

    /// Mirrors `BatchSemaphore::const_new`.
    #[must_use]
    pub const fn const_new(num_permits: usize, fairness: Fairness) -> BatchSemaphore {
        let state = State {
            available: num_permits,
            is_closed: false,
            waiters: VecDeque::new(),
            reservation: None,
            granted: Vec::new(),
            next_number: 0,
        };
        BatchSemaphore { state: Mutex::new(state), fairness }
    }

    #[track_caller]
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state, and wakes whoever can go on then.
    #[track_caller]
    fn change(&self, f: impl FnOnce(&mut State)) {
        let woken = self.with(|state| {
            f(state);
            state.woken(self.fairness)
        });
        woken.into_iter().for_each(Waker::wake);
    }

    /// Mirrors `BatchSemaphore::available_permits`.
    #[track_caller]
    #[must_use]
    pub fn available_permits(&self) -> usize {
        self.with(|state| if state.reservation.is_some() { 0 } else { state.available })
    }

    /// Mirrors `BatchSemaphore::close`.
    #[track_caller]
    pub fn close(&self) {
        let woken = self.with(|state| {
            state.is_closed = true;
            let reservation = state.reservation.take();
            state.waiters.drain(..).chain(reservation).map(|waiter| waiter.waker).collect::<Vec<_>>()
        });
        woken.into_iter().for_each(Waker::wake);
    }

    /// Mirrors `BatchSemaphore::close_no_scheduling_point`.
    #[track_caller]
    pub fn close_no_scheduling_point(&self) {
        self.close();
    }

    /// Mirrors `BatchSemaphore::is_closed`.
    #[track_caller]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.with(|state| state.is_closed)
    }

    #[track_caller]
    fn try_take(&self, wanted: usize, place: Place) -> Result<(), TryAcquireError> {
        self.with(|state| {
            if state.is_closed {
                Err(TryAcquireError::Closed)
            } else if state.can_take(wanted, place, self.fairness) {
                state.available -= wanted;
                Ok(())
            } else {
                Err(TryAcquireError::NoPermits)
            }
        })
    }

    /// Mirrors `BatchSemaphore::try_acquire`.
    ///
    /// # Errors
    /// If the semaphore is closed, or there are not enough permits.
    #[track_caller]
    pub fn try_acquire(&self, num_permits: usize) -> Result<(), TryAcquireError> {
        self.try_take(num_permits, Place::Back)
    }

    fn request(&self, wanted: usize, min: Option<usize>, place: Place) -> Acquire<'_> {
        Acquire { semaphore: self, wanted, reserve_at: min, place, number: None, is_over: false }
    }

    /// Mirrors `BatchSemaphore::acquire`.
    #[must_use]
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        self.request(num_permits, None, Place::Back)
    }

    /// Mirrors `BatchSemaphore::acquire_bypassable`.
    #[must_use]
    pub fn acquire_bypassable(&self, num_permits: usize) -> Acquire<'_> {
        self.request(num_permits, None, Place::Bypassable)
    }

    /// Mirrors `BatchSemaphore::acquire_blocking`.
    ///
    /// # Errors
    /// If the semaphore is closed.
    #[track_caller]
    pub fn acquire_blocking(&self, num_permits: usize) -> Result<(), AcquireError> {
        super::block_on(self.acquire(num_permits))
    }

    /// Mirrors `BatchSemaphore::acquire_reserving`: as soon as there are `min_permits`, all are kept for this request.
    ///
    /// # Panics
    /// If the semaphore is fair, or the numbers make no sense.
    #[must_use]
    pub fn acquire_reserving(&self, min_permits: usize, num_permits: usize) -> Acquire<'_> {
        assert_eq!(self.fairness, Fairness::Unfair, "only an unfair semaphore supports reservations");
        assert!(num_permits > 0 && min_permits <= num_permits);
        self.request(num_permits, Some(min_permits), Place::Back)
    }

    /// Mirrors `BatchSemaphore::release`.
    #[track_caller]
    pub fn release(&self, num_permits: usize) {
        if num_permits > 0 {
            self.change(|state| state.available += num_permits);
        }
    }

    /// Mirrors `BatchSemaphore::upgrade`: to hold more permits, before all who wait.
    ///
    /// # Panics
    /// If the numbers make no sense.
    #[must_use]
    pub fn upgrade(&self, permits_currently_held: usize, permits_to_be_held: usize) -> Acquire<'_> {
        let missing = missing(permits_currently_held, permits_to_be_held);
        match self.fairness {
            Fairness::StrictlyFair => self.request(missing, None, Place::Front),
            Fairness::Unfair => self.request(missing, Some(0), Place::Back),
        }
    }

    /// Mirrors `BatchSemaphore::try_upgrade`.
    ///
    /// # Errors
    /// If the semaphore is closed, or there are not enough permits.
    ///
    /// # Panics
    /// If the numbers make no sense.
    #[track_caller]
    pub fn try_upgrade(
        &self,
        permits_currently_held: usize,
        permits_to_be_held: usize,
    ) -> Result<(), TryAcquireError> {
        self.try_take(missing(permits_currently_held, permits_to_be_held), Place::Front)
    }
}

fn missing(held: usize, to_be_held: usize) -> usize {
    assert!(held > 0 && to_be_held > held);
    to_be_held - held
}

impl Default for BatchSemaphore {
    fn default() -> BatchSemaphore {
        BatchSemaphore::new(0, Fairness::StrictlyFair)
    }
}

impl fmt::Debug for BatchSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchSemaphore").field("fairness", &self.fairness).finish_non_exhaustive()
    }
}

/// Mirrors `batch_semaphore::Acquire`.
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    wanted: usize,
    /// For how many all permits are to be kept for this request.
    reserve_at: Option<usize>,
    place: Place,
    /// Among those who wait, if it ever had to.
    number: Option<u64>,
    is_over: bool,
}

impl Acquire<'_> {
    fn attempt(&self, state: &mut State, waker: &Waker) -> Attempt {
        if let Some(number) = self.number
            && let Some(index) = state.granted.iter().position(|granted| *granted == number)
        {
            state.granted.swap_remove(index);
            return Attempt::Over(Ok(()), Vec::new());
        }
        if state.is_closed {
            return Attempt::Over(Err(AcquireError(())), Vec::new());
        }
        let fairness = self.semaphore.fairness;
        let queued = state.waiters.iter().position(|waiter| Some(waiter.number) == self.number);
        let holds = self.number.is_some_and(|number| state.is_reserved_by(number));
        // Who waits at a fair semaphore is given permits.
        let may_take = fairness == Fairness::Unfair || queued.is_none();
        let can_take = if holds {
            state.available >= self.wanted
        } else {
            may_take && state.can_take(self.wanted, self.place, fairness)
        };
        if can_take {
            state.available -= self.wanted;
            if let Some(index) = queued {
                state.waiters.remove(index);
            }
            let mut woken = Vec::new();
            if holds {
                state.reservation = None;
                woken = state.woken(fairness);
            }
            return Attempt::Over(Ok(()), woken);
        }
        let number = self.number.unwrap_or(state.next_number);
        state.next_number += u64::from(self.number.is_none());
        let waiter = Waiter {
            number,
            wanted: self.wanted,
            min: self.reserve_at.unwrap_or(self.wanted),
            place: self.place,
            waker: waker.clone(),
        };
        let reserves =
            state.reservation.is_none() && self.reserve_at.is_some_and(|min| state.available >= min);
        match (queued, self.place) {
            _ if holds => state.reservation = Some(waiter),
            _ if reserves => {
                if let Some(index) = queued {
                    state.waiters.remove(index);
                }
                state.reservation = Some(waiter);
            }
            (Some(index), _) => state.waiters[index] = waiter,
            (None, Place::Front) => state.waiters.push_front(waiter),
            (None, _) => state.waiters.push_back(waiter),
        }
        Attempt::Waits(number)
    }
}

enum Attempt {
    Over(Result<(), AcquireError>, Vec<Waker>),
    Waits(u64),
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.is_over, "an acquire is polled after it has been ready");
        let this = &*self;
        match this.semaphore.with(|state| this.attempt(state, context.waker())) {
            Attempt::Over(result, woken) => {
                self.is_over = true;
                woken.into_iter().for_each(Waker::wake);
                Poll::Ready(result)
            }
            Attempt::Waits(number) => {
                self.number = Some(number);
                Poll::Pending
            }
        }
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number.filter(|_| !self.is_over) else { return };
        let wanted = self.wanted;
        self.semaphore.change(|state| {
            if let Some(index) = state.granted.iter().position(|granted| *granted == number) {
                state.granted.swap_remove(index);
                state.available += wanted;
            }
            state.waiters.retain(|waiter| waiter.number != number);
            if state.is_reserved_by(number) {
                state.reservation = None;
            }
        });
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}
