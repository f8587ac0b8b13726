//! `std::time`. Modelled: [`Instant`] and [`SystemTime`] read the virtual clock of the running execution, which moves
//! when a timed wait or a sleep expires, when a thread pauses that has done nothing but read it (so it does by itself
//! after 64 readings without a step), and when every thread waits
//! and one of them has read it while spinning (1 µs, and twice as much each time); reading it is no step. The calendar time
//! of an execution begins at a fixed date. Outside an execution both read the real clocks. Durations and errors
//! are `std`'s.
//!
//! Not modelled: that reading the clock is an event among those of other threads. A thread reads it together with the step
//! before it, and the search does not try every order of one thread's reading and another's `sleep` or expiry: a failure
//! that needs a clock to be read between two particular steps of others may not be found. Give such a test a step there
//! (`yield_now`), and `--reduction none`. Nor are the times of files, which stay `SystemTime` of the real `std`; the two
//! types convert into each other with `From`.
//!
//! Crates that know nothing of icb hand dates to files and back. For them `SystemTime` is the real one (`icb_system_dates`),
//! and the system's clock is the model's (`clock.rs` of the harness).

pub use ::std::time::*;

use crate::door;
use ::std::fmt;
use ::std::hash::{Hash, Hasher};
use ::std::ops::{Add, AddAssign, Sub, SubAssign};
use ::std::sync::OnceLock;

/// The moment at which every execution begins, on the clock of `Instant`.
static BEGIN: OnceLock<::std::time::Instant> = OnceLock::new();

/// The time of a wait that begins anew when it has been woken in vain.
///
/// Where a wait may be over at any time, how long it is makes no difference: that it is over is for the wait itself to say. Where time passes only when nobody can
/// go on, no more is waited for than what is left.
#[derive(Clone, Copy)]
pub(crate) struct WaitingTime {
    whole: Duration,
    end: Option<Duration>,
}

impl WaitingTime {
    /// Of a wait that begins now.
    pub(crate) fn new(whole: Duration) -> WaitingTime {
        WaitingTime { whole, end: door::patient_now().map(|now| now.saturating_add(whole)) }
    }

    /// How much of it is to be waited for from now on.
    pub(crate) fn left(self) -> Duration {
        match (self.end, door::patient_now()) {
            (Some(end), Some(now)) => end.saturating_sub(now),
            _ => self.whole,
        }
    }
}

/// Mirrors `std::time::Instant`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(::std::time::Instant);

/// Mirrors `std::time::SystemTime`.
#[cfg(not(icb_system_dates))]
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemTime(::std::time::SystemTime);

/// Mirrors `std::time::UNIX_EPOCH`.
#[cfg(not(icb_system_dates))]
pub const UNIX_EPOCH: SystemTime = SystemTime(::std::time::UNIX_EPOCH);

/// The moment at which every execution begins, which is another one in each process.
fn begin() -> ::std::time::Instant {
    *door::noted_once(&BEGIN, ::std::time::Instant::now)
}

/// The same for what an execution reads at the same time, in every process: random numbers are drawn from this.
impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let begin = begin();
        (self.0 >= begin).hash(state);
        self.0.max(begin).duration_since(self.0.min(begin)).hash(state);
    }
}

impl Instant {
    /// Mirrors `std::time::Instant::now`.
    #[must_use]
    #[track_caller]
    pub fn now() -> Instant {
        match door::now() {
            Some(elapsed) => Instant(begin() + elapsed),
            None => Instant(::std::time::Instant::now()),
        }
    }

    /// Mirrors `std::time::Instant::duration_since`.
    #[must_use]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.duration_since(earlier.0)
    }

    /// Mirrors `std::time::Instant::checked_duration_since`.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Mirrors `std::time::Instant::saturating_duration_since`.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Mirrors `std::time::Instant::elapsed`.
    #[must_use]
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        door::handle_used(self);
        Instant::now() - *self
    }

    /// Mirrors `std::time::Instant::checked_add`.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// Mirrors `std::time::Instant::checked_sub`.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, other: Instant) -> Duration {
        self.duration_since(other)
    }
}

#[cfg(not(icb_system_dates))]
impl SystemTime {
    /// Mirrors `std::time::SystemTime::UNIX_EPOCH`.
    pub const UNIX_EPOCH: SystemTime = UNIX_EPOCH;

    /// Mirrors `std::time::SystemTime::now`.
    #[must_use]
    #[track_caller]
    pub fn now() -> SystemTime {
        match door::now() {
            Some(elapsed) => UNIX_EPOCH + door::BEGIN_DATE + elapsed,
            None => SystemTime(::std::time::SystemTime::now()),
        }
    }

    /// Mirrors `std::time::SystemTime::duration_since`.
    pub fn duration_since(&self, earlier: SystemTime) -> Result<Duration, SystemTimeError> {
        self.0.duration_since(earlier.0)
    }

    /// Mirrors `std::time::SystemTime::elapsed`.
    #[track_caller]
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        SystemTime::now().duration_since(*self)
    }

    /// Mirrors `std::time::SystemTime::checked_add`.
    pub fn checked_add(&self, duration: Duration) -> Option<SystemTime> {
        self.0.checked_add(duration).map(SystemTime)
    }

    /// Mirrors `std::time::SystemTime::checked_sub`.
    pub fn checked_sub(&self, duration: Duration) -> Option<SystemTime> {
        self.0.checked_sub(duration).map(SystemTime)
    }
}

#[cfg(not(icb_system_dates))]
impl From<::std::time::SystemTime> for SystemTime {
    fn from(time: ::std::time::SystemTime) -> SystemTime {
        SystemTime(time)
    }
}

#[cfg(not(icb_system_dates))]
impl From<SystemTime> for ::std::time::SystemTime {
    fn from(time: SystemTime) -> ::std::time::SystemTime {
        time.0
    }
}

/// Arithmetic with durations, and `Debug`, are the same for both clocks.
macro_rules! arithmetic {
    ($($clock:ident)*) => { $(
        impl Add<Duration> for $clock {
            type Output = $clock;

            #[track_caller]
            fn add(self, other: Duration) -> $clock {
                self.checked_add(other).expect("overflow when adding duration to instant")
            }
        }

        impl AddAssign<Duration> for $clock {
            #[track_caller]
            fn add_assign(&mut self, other: Duration) {
                *self = *self + other;
            }
        }

        impl Sub<Duration> for $clock {
            type Output = $clock;

            #[track_caller]
            fn sub(self, other: Duration) -> $clock {
                self.checked_sub(other).expect("overflow when subtracting duration from instant")
            }
        }

        impl SubAssign<Duration> for $clock {
            #[track_caller]
            fn sub_assign(&mut self, other: Duration) {
                *self = *self - other;
            }
        }

        impl fmt::Debug for $clock {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )* };
}

arithmetic!(Instant);
#[cfg(not(icb_system_dates))]
arithmetic!(SystemTime);
