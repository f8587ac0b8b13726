//! What running has taken: time of the processor, and memory. Knows nothing of what is run.

/// CPU time of this thread, in seconds.
///
/// # Panics
/// If the system does not say.
#[must_use]
#[cfg(unix)]
pub fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` of this frame.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_secs_f64()
}

/// A figure of this process's memory, in KiB, as `/proc/self/status` calls it: `VmRSS`, or `VmHWM` for the most there has been. `None`
/// where the system does not say.
#[must_use]
pub fn memory(figure: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
