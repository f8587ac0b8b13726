//! What is done for signals (`sigaction`, `signal`). It belongs to the process, as statics do, and like theirs its state at the beginning of an execution is that before the
//! first one: else a handler would be called whose variables are new, or be found to have been there before itself. Changing it is no step.

use crate::c_library::Real;
use crate::door::{self, OwnLock};
use ::std::ffi::{c_int, c_void};
use ::std::mem::transmute;
use ::std::ptr::{from_mut, from_ref, null, null_mut};
use ::std::sync::atomic::{AtomicU8, Ordering};

/// Signals are numbered from 1, below this.
const SIGNALS: usize = 65;
/// What `signal` answers where it has not done anything.
const SIG_ERR: usize = usize::MAX;
const ENOSYS: c_int = 38;

/// What `sigaction` takes and gives, and nobody here looks into: as large as on any of the systems that this is for, or larger.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Action([u64; 32]);

type Sigaction = unsafe extern "C" fn(c_int, *const c_void, *mut c_void) -> c_int;

/// What was done for the signals that the running execution has something else done for.
struct Before {
    actions: [Option<Action>; SIGNALS],
    is_used: bool,
}

static BEFORE: OwnLock<Before> = OwnLock::new(Before { actions: [None; SIGNALS], is_used: false });

/// Whether some signal is handled where no execution has changed anything.
static OUTSIDE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const HANDLED: u8 = 1;
const NOT_HANDLED: u8 = 2;

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: Sigaction = sigaction;

fn real_sigaction() -> Option<Sigaction> {
    static REAL: Real = Real::new(c"sigaction");
    // SAFETY: the C library's function of this name.
    REAL.get().map(|real| unsafe { transmute::<*mut c_void, Sigaction>(real) })
}

/// The calling thread is about to say what is done for the signal.
fn about_to_change(signal: c_int) {
    let (Ok(index), true) = (usize::try_from(signal), door::is_modelled()) else {
        return OUTSIDE.store(UNKNOWN, Ordering::Relaxed);
    };
    let Some(real) = real_sigaction().filter(|_| index < SIGNALS) else { return };
    let mut before = BEFORE.lock();
    door::forget_at_end(&mut before.is_used, put_back);
    if before.actions[index].is_none() {
        let mut action = Action([0; 32]);
        // SAFETY: there is room for an action, and none is given.
        if unsafe { real(signal, null(), from_mut(&mut action).cast()) } == 0 {
            before.actions[index] = Some(action);
        }
    }
}

/// Whether some signal is handled, as `look` finds; it is known where no execution has changed anything since.
pub(crate) fn unless_unchanged(look: impl FnOnce() -> bool) -> bool {
    if BEFORE.lock().is_used {
        return look();
    }
    match OUTSIDE.load(Ordering::Relaxed) {
        UNKNOWN => {
            let is_handled = look();
            OUTSIDE.store(if is_handled { HANDLED } else { NOT_HANDLED }, Ordering::Relaxed);
            is_handled
        }
        known => known == HANDLED,
    }
}

fn put_back() {
    let mut before = BEFORE.lock();
    before.is_used = false;
    let Some(real) = real_sigaction() else { return };
    for (signal, action) in (0..).zip(&mut before.actions) {
        if let Some(action) = action.take() {
            // SAFETY: the action is what the function has given.
            unsafe { real(signal, from_ref(&action).cast(), null_mut()) };
        }
    }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, action: *const c_void, before: *mut c_void) -> c_int {
    let Some(real) = real_sigaction() else { return crate::system::answer(Err(ENOSYS)) as c_int };
    if !action.is_null() {
        about_to_change(signal);
    }
    // SAFETY: the caller's promise.
    unsafe { real(signal, action, before) }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    static REAL: Real = Real::new(c"signal");
    let Some(real) = REAL.get() else { return SIG_ERR };
    about_to_change(signal);
    // SAFETY: the C library's function of this name, and the caller's promise.
    unsafe { transmute::<*mut c_void, unsafe extern "C" fn(c_int, usize) -> usize>(real)(signal, handler) }
}
