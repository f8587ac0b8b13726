//! The system's clocks, as the real `std` reads them: this file defines the C function `clock_gettime`, which in an execution
//! tells the model's time, and otherwise is the system's. So dates can be the real `std`'s, which files have too.
//!
//! Clocks that count the time of a processor stay the system's.

use icb_core::runtime;
use std::ffi::{c_int, c_long};
use std::time::Duration;

/// `CLOCK_REALTIME` and `CLOCK_REALTIME_COARSE`.
const DATES: [c_int; 2] = [0, 5];
/// `CLOCK_MONOTONIC`, `CLOCK_MONOTONIC_RAW`, `CLOCK_MONOTONIC_COARSE` and `CLOCK_BOOTTIME`.
const OTHERS: [c_int; 4] = [1, 4, 6, 7];

#[cfg(target_arch = "x86_64")]
const SYS_CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const SYS_CLOCK_GETTIME: c_long = 113;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(c_int, *mut [i64; 2]) -> c_int = clock_gettime;

/// The C function of this name; a time is seconds and nanoseconds.
///
/// # Safety
/// As the C function: `time` may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int {
    if !runtime::engine_works()
        && let Some(now) = runtime::without_unwinding(runtime::now)
        && let Some(shown) = shown(clock, now)
    {
        // SAFETY: the caller's promise.
        unsafe { time.write([shown.as_secs() as i64, i64::from(shown.subsec_nanos())]) };
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { syscall(SYS_CLOCK_GETTIME, clock, time) as c_int }
}

/// What the clock shows so long after the beginning of an execution.
fn shown(clock: c_int, now: Duration) -> Option<Duration> {
    if DATES.contains(&clock) {
        Some(runtime::BEGIN_DATE + now)
    } else {
        OTHERS.contains(&clock).then(|| runtime::BEGIN_UPTIME + now)
    }
}
