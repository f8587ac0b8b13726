//! `errno`, which the system keeps for each of its threads: all threads of an execution would have one in common. Each keeps its own while others run, and
//! accesses to it are none to what is shared.

#[cfg(target_os = "linux")]
fn place() -> *mut std::ffi::c_int {
    // SAFETY: it has no preconditions.
    unsafe { libc::__errno_location() }
}

/// Lets others run by `f`, with an `errno` of their own.
#[inline(always)]
#[cfg(target_os = "linux")]
pub(super) fn kept<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: the calling thread's.
    let value = unsafe { place().read() };
    let result = f();
    // Who has waited for work may go on in another thread of the system.
    // SAFETY: as above.
    unsafe { place().write(value) };
    result
}

/// Not kept on other systems.
#[inline(always)]
#[cfg(not(target_os = "linux"))]
pub(super) fn kept<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Whether it is at this address.
#[cfg(target_os = "linux")]
pub(super) fn is_at(address: usize) -> bool {
    place().addr() == address
}

/// Not known on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) const fn is_at(_address: usize) -> bool {
    false
}
