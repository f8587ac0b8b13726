//! `timerfd_create(2)`: an event loop that makes itself a timer of the system's would wait for real time, which is outside the
//! model. In an execution there are no such timers: the C function of this name fails as on a system without them, and
//! event loops (`polling`, and so `async-io`) then give the time to `epoll_wait`, which knows the model's clock.

use crate::door;
use crate::system::{self, answer, answer_of, system};
use ::std::ffi::c_int;

const ENOSYS: c_int = 38;

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(c_int, c_int) -> c_int = timerfd_create;

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    if door::is_modelled() {
        return answer(Err(ENOSYS)) as c_int;
    }
    // SAFETY: the caller's promise.
    answer_of(unsafe { system(system::TIMERFD_CREATE, clock as usize, flags as usize, 0, 0, 0, 0) }) as c_int
}
