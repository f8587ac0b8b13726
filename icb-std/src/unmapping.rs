//! `munmap(2)` and `mprotect(2)`: memory that a program maps by itself (the stack of a coroutine, an arena) and gives back, or takes from others, is as if it were freed: who uses it
//! at the same time fails in another order. It may come again at the same place, for another thread. Nothing orders the two, and nothing has to: what was known of accesses to that memory is
//! forgotten.

use crate::door;
use crate::system::{self, answer_of, system};
use ::std::ffi::{c_int, c_void};

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(*mut c_void, usize) -> c_int = munmap;

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn munmap(address: *mut c_void, size: usize) -> c_int {
    // SAFETY: the caller's promise.
    let result = answer_of(unsafe { system(system::MUNMAP, address.addr(), size, 0, 0, 0, 0) });
    if result == 0 && door::is_modelled() {
        door::memory_unmapped(address.addr(), size);
    }
    result as c_int
}

/// Memory may be read and written.
const ALL: c_int = 1 | 2;

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP_PROTECTION: unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int = mprotect;

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(address: *mut c_void, size: usize, allowed: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let result =
        answer_of(unsafe { system(system::MPROTECT, address.addr(), size, allowed as usize, 0, 0, 0) });
    if result == 0 && allowed & ALL != ALL && door::is_modelled() {
        door::memory_protected(address.addr(), size);
    }
    result as c_int
}
