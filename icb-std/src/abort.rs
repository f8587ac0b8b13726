//! `abort(3)`, which `std::process::abort` and a panic in the middle of a panic end in: this file defines the C function. A
//! thread that is unwound because its execution is given up, and aborts the process for that, is left as it is;
//! everybody else aborts.

use crate::c_library::Real;
use crate::door;
use crate::system::{self, system};
use ::std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn raise(signal: c_int) -> c_int;
}

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP: extern "C" fn() -> ! = abort;

/// The C function of this name.
#[unsafe(no_mangle)]
extern "C" fn abort() -> ! {
    const SIGABRT: c_int = 6;
    static REAL: Real = Real::new(c"abort");
    door::leave_at_abort();
    if !::std::thread::panicking() {
        // What the value of a static does when it is dropped, which `std` never does.
        door::leave_apart();
    }
    if let Some(next) = REAL.get() {
        // SAFETY: the C library's function of this name, which takes nothing and does not return.
        unsafe { ::std::mem::transmute::<*mut c_void, extern "C" fn() -> !>(next)() }
    }
    // Linked statically: there is no other.
    // SAFETY: sends a signal to the calling thread, and ends the process.
    unsafe {
        raise(SIGABRT);
        loop {
            system(system::EXIT_GROUP, 134, 0, 0, 0, 0, 0);
        }
    }
}
