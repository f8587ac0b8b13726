//! Sleeps as C code and crates make them that do not sleep through std: the C functions `nanosleep`, `clock_nanosleep`, `usleep`, `sleep`, and `select` of no files, which in an
//! execution sleep by the model's clock, and otherwise are the system's. A point in time is one of the model's clock only where `clock_gettime` tells that.

use crate::door;
use crate::system::{self, answer_of, system};
use ::std::ffi::{c_int, c_uint, c_void};
use ::std::time::Duration;

/// How long a wait takes whose end is given by a clock that is not the model's.
const SOME_TIME: Duration = Duration::from_millis(1);
/// `TIMER_ABSTIME`.
const UNTIL: c_int = 1;
const EINVAL: c_int = 22;

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(*const [i64; 2], *mut [i64; 2]) -> c_int = nanosleep;

/// Seconds and nanoseconds. `None`: they are none.
pub(crate) fn duration([seconds, nanoseconds]: [i64; 2]) -> Option<Duration> {
    let nanoseconds = u32::try_from(nanoseconds).ok().filter(|&count| count < 1_000_000_000)?;
    Some(Duration::new(u64::try_from(seconds).ok()?, nanoseconds))
}

/// How long it is to a point in time of a clock that tells dates, or of another one.
pub(crate) fn until(time: Duration, is_date: bool) -> Duration {
    let begin = if is_date { door::BEGIN_DATE } else { door::BEGIN_UPTIME };
    let now = if cfg!(icb_system_dates) { door::now() } else { None };
    now.map_or(SOME_TIME, |now| time.saturating_sub(begin + now))
}

/// By the model's clock, for code that must not be unwound.
pub(crate) fn sleep_for(time: Duration) {
    door::without_unwinding(|| crate::thread::sleep(time));
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const [i64; 2], left: *mut [i64; 2]) -> c_int {
    if door::is_modelled()
        // SAFETY: the caller's promise.
        && let Some(time) = unsafe { time.as_ref() }.copied().and_then(duration)
    {
        sleep_for(time);
        return 0;
    }
    // SAFETY: the caller's promise.
    answer_of(unsafe { system(system::NANOSLEEP, time.addr(), left.addr(), 0, 0, 0, 0) }) as c_int
}

/// The C function of this name: what is wrong is its answer.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const [i64; 2],
    left: *mut [i64; 2],
) -> c_int {
    if door::is_modelled()
        // SAFETY: the caller's promise.
        && let Some(&time) = unsafe { time.as_ref() }
    {
        let Some(time) = duration(time) else { return EINVAL };
        sleep_for(if flags & UNTIL == 0 { time } else { until(time, clock == 0) });
        return 0;
    }
    let (clock, flags) = (clock as usize, flags as usize);
    // SAFETY: the caller's promise.
    let result = unsafe { system(system::CLOCK_NANOSLEEP, clock, flags, time.addr(), left.addr(), 0, 0) };
    -result as c_int
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
    let time = Duration::from_micros(microseconds.into());
    let time = [time.as_secs() as i64, i64::from(time.subsec_nanos())];
    // SAFETY: a time, and nowhere to write what is left.
    unsafe { nanosleep(&raw const time, ::std::ptr::null_mut()) }
}

/// The C function of this name: how many seconds are left if it was interrupted.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let mut time = [i64::from(seconds), 0];
    let place = &raw mut time;
    // SAFETY: a time, which may be written.
    match unsafe { nanosleep(place, place) } {
        0 => 0,
        _ => time[0] as c_uint,
    }
}

/// The C function of this name; a time is seconds and microseconds.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    count: c_int,
    read: *mut c_void,
    write: *mut c_void,
    exceptions: *mut c_void,
    time: *mut [i64; 2],
) -> c_int {
    // SAFETY: the caller's promise.
    let mut left =
        unsafe { time.as_ref() }.map(|&[seconds, microseconds]| [seconds, microseconds.saturating_mul(1000)]);
    if count == 0
        && door::is_modelled()
        && let Some(whole) = left.and_then(duration)
    {
        sleep_for(whole);
        return 0;
    }
    let (place, count) = (left.as_mut().map_or(0, |left| (&raw mut *left).addr()), count as usize);
    // SAFETY: the caller's promise; a time that may be written, and no signals.
    let result =
        unsafe { system(system::PSELECT6, count, read.addr(), write.addr(), exceptions.addr(), place, 0) };
    if let Some([seconds, nanoseconds]) = left {
        // SAFETY: the caller's promise: as on Linux, what is left is written there.
        unsafe { time.write([seconds, nanoseconds / 1000]) };
    }
    answer_of(result) as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_checked() {
        assert_eq!(duration([2, 5]), Some(Duration::new(2, 5)));
        assert_eq!([duration([-1, 0]), duration([0, -1]), duration([0, 1_000_000_000])], [None; 3]);
    }
}
