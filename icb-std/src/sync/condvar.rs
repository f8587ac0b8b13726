//! `std::sync::Condvar`. Modelled: `wait` as two steps (give the mutex back and wait; be notified and take it again),
//! `notify_one` (every choice of the waiter is explored, at no cost), `notify_all`, the expiry of a timed wait, and waits that
//! end for no reason, timed ones too, or in vain because the time is over while another thread has the mutex, which then notifies. Not modelled:
//! using one condvar with two mutexes, which some platforms answer with a panic.

use super::mutex::MutexGuard;
use crate::door::{self, Effect, Handle, InitialState, ObjectInit};
use crate::time::{Instant, WaitingTime};
use ::std::any::type_name;
use ::std::fmt;
use ::std::sync::{LockResult, PoisonError};
use ::std::time::Duration;

/// So often a wait with a condition and a time ends without either, before the clock is asked: those who tell it may do so until it has
/// noticed that its time is over.
const TOLD_IN_VAIN: u32 = 8;

/// Mirrors `std::sync::WaitTimeoutResult`.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Mirrors `std::sync::WaitTimeoutResult::timed_out`.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// Mirrors `std::sync::Condvar`.
pub struct Condvar {
    handle: Handle,
    /// The first letter of what it is part of, where the program knows of no condition variable. (No reference: its memory may have been
    /// freed when this is read.)
    part_of: u8,
    /// Used outside executions only.
    real: ::std::sync::Condvar,
}

impl Condvar {
    /// Mirrors `std::sync::Condvar::new`.
    #[must_use]
    #[inline]
    pub const fn new() -> Condvar {
        Condvar { handle: Handle::new(), part_of: 0, real: ::std::sync::Condvar::new() }
    }

    /// One that reports call a futex.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) const fn of_futex() -> Condvar {
        Condvar { part_of: b'f', ..Condvar::new() }
    }

    /// One that reports call an epoll.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) const fn of_epoll() -> Condvar {
        Condvar { part_of: b'e', ..Condvar::new() }
    }

    /// One that reports call a lock of files.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) const fn of_file_locks() -> Condvar {
        Condvar { part_of: b'l', ..Condvar::new() }
    }

    #[inline]
    fn init(&self) -> ObjectInit {
        ObjectInit {
            state: InitialState::Condvar,
            type_name: match self.part_of {
                b'f' => "futex",
                b'e' => "epoll",
                b'l' => "lock of files",
                _ => type_name::<Condvar>(),
            },
            address: (&raw const *self).cast(),
            on_first_use: None,
        }
    }

    /// Gives the mutex back, waits, takes it again. Whether the wait expired.
    #[inline]
    #[track_caller]
    fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Option<Duration>) -> bool {
        if guard.real().is_some() {
            return self.wait_outside(guard, timeout);
        }
        let mutex = guard.mutex();
        let timeout = timeout.and_then(|timeout| door::limited(Some(timeout)));
        let effect = self.handle.wait(self.init(), mutex.handle(), mutex.init(), timeout);
        effect == Some(Effect::TimedOut)
    }

    #[cold]
    fn wait_outside<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Option<Duration>) -> bool {
        let Some(real) = guard.real().take() else { return false };
        let (real, expired) = match timeout {
            None => (self.real.wait(real).unwrap_or_else(PoisonError::into_inner), false),
            Some(timeout) => {
                let answer = self.real.wait_timeout(real, timeout);
                let (real, result) = answer.unwrap_or_else(PoisonError::into_inner);
                (real, result.timed_out())
            }
        };
        *guard.real() = Some(real);
        expired
    }

    /// Mirrors `std::sync::Condvar::wait`.
    #[inline]
    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(&mut guard, None);
        if guard.poisoned() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Mirrors `std::sync::Condvar::wait_while`.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Mirrors `std::sync::Condvar::wait_timeout_ms`.
    #[deprecated(since = "1.6.0", note = "replaced by `std::sync::Condvar::wait_timeout`")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(u64::from(ms))) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(error) => {
                let (guard, result) = error.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// Mirrors `std::sync::Condvar::wait_timeout`.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = WaitTimeoutResult(self.wait_for(&mut guard, Some(dur)));
        if guard.poisoned() { Err(PoisonError::new((guard, result))) } else { Ok((guard, result)) }
    }

    /// Mirrors `std::sync::Condvar::wait_timeout_while`.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let (start, time) = (Instant::now(), WaitingTime::new(dur));
        let (mut is_over, mut told) = (false, 0);
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            // The model's clock is moved on by whoever waits for a time, and reading it is no step: that the time is over is for the wait itself
            // to say, whose end is an outcome of a step. Who has been told so often in vain looks at the clock all the same.
            let asks_clock = told >= TOLD_IN_VAIN || !door::active();
            let elapsed = if asks_clock { start.elapsed() } else { Duration::ZERO };
            // A virtual clock can stand exactly at the end.
            let timeout = time.left().min(dur.saturating_sub(elapsed));
            if is_over || timeout.is_zero() {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let (again, result) = self.wait_timeout(guard, timeout)?;
            guard = again;
            is_over = result.timed_out();
            told += 1;
        }
    }

    /// Mirrors `std::sync::Condvar::notify_one`.
    #[inline]
    #[track_caller]
    pub fn notify_one(&self) {
        if self.handle.notify_one(self.init()).is_none() {
            self.real.notify_one();
        }
    }

    /// Mirrors `std::sync::Condvar::notify_all`.
    #[inline]
    #[track_caller]
    pub fn notify_all(&self) {
        if self.handle.notify_all(self.init()).is_none() {
            self.real.notify_all();
        }
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}
