//! `munmap(2)`: memory that a program maps by itself (the stack of a coroutine, an arena) and gives back may come again at the same place, for another thread. Nothing
//! orders the two, and nothing has to: what was known of accesses to that memory is forgotten.

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
