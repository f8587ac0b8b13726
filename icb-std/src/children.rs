//! The C functions by which a test starts another process: `fork`, `posix_spawn`, `system` and `popen` (x86-64 Linux), by which `std::process::Command` does.
//! In an execution, reading the processor's counter raises a signal, which shows the model's clock; and a process that is started inherits that, but not who
//! answers the signal, so that it dies of the first look. (The loader of programs takes one.) So the counter is let go of meanwhile.
//!
//! What the other process does is no part of the model.

use crate::c_library::Real;
use crate::door;
use crate::streams;
use crate::system::answer;
use ::std::ffi::{c_char, c_int, c_void};
use ::std::mem::transmute;
use ::std::ptr::null_mut;
use ::std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use ::std::sync::{Mutex, PoisonError};

const ENOMEM: c_int = 12;
const ENOSYS: c_int = 38;

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn() -> c_int = fork;
#[used]
static KEEP_ATFORK: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> c_int = pthread_atfork;

/// Does this while the counter can be read without a signal.
fn with_counter<R>(start: impl FnOnce() -> R) -> R {
    streams::child_begins();
    let is_trapped = door::let_go_of_counter();
    let result = start();
    if is_trapped {
        door::trap_counter();
    }
    result
}

/// The C function of this name. What the program forks in the model is another process, and reads the counter there. (The engine does not fork by this function.)
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> c_int {
    static REAL: Real = Real::new(c"fork");
    let Some(real) = REAL.get() else { return answer(Err(ENOSYS)) as c_int };
    // SAFETY: the C library's function of this name.
    let fork = unsafe { transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(real) };
    streams::child_begins();
    let is_trapped = door::is_modelled() && door::let_go_of_counter();
    let count = HANDLER_COUNT.load(Ordering::Acquire);
    call_handlers(HANDLERS[..count].iter().rev().map(|handlers| &handlers.before));
    // SAFETY: the caller's promise.
    let child = unsafe { fork() };
    if child == 0 && door::active() {
        door::IS_FORKED.store(true, Ordering::Relaxed);
    }
    call_handlers(HANDLERS[..count].iter().map(|handlers| match child {
        0 => &handlers.in_child,
        _ => &handlers.in_parent,
    }));
    if is_trapped && child != 0 {
        door::trap_counter();
    }
    child
}

/// Functions that a fork calls.
#[derive(Debug)]
struct Handlers {
    before: AtomicPtr<c_void>,
    in_parent: AtomicPtr<c_void>,
    in_child: AtomicPtr<c_void>,
}

const MAX_HANDLERS: usize = 256;

/// What the program has registered: the C library is not told, because it would call them where the engine forks, too.
static HANDLERS: [Handlers; MAX_HANDLERS] = [const {
    Handlers {
        before: AtomicPtr::new(null_mut()),
        in_parent: AtomicPtr::new(null_mut()),
        in_child: AtomicPtr::new(null_mut()),
    }
}; MAX_HANDLERS];
static HANDLER_COUNT: AtomicUsize = AtomicUsize::new(0);

fn call_handlers<'a>(handlers: impl Iterator<Item = &'a AtomicPtr<c_void>>) {
    for handler in handlers {
        let handler = handler.load(Ordering::Relaxed);
        if !handler.is_null() {
            // SAFETY: `pthread_atfork` was given it as a function of this type.
            unsafe { transmute::<*mut c_void, unsafe extern "C" fn()>(handler)() };
        }
    }
}

/// The C function of this name. One that is registered again is called once: each execution registers its own, and none is told when an execution is over.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_atfork(
    before: *mut c_void,
    in_parent: *mut c_void,
    in_child: *mut c_void,
) -> c_int {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let count = HANDLER_COUNT.load(Ordering::Relaxed);
    let is_same = |handlers: &Handlers| {
        handlers.before.load(Ordering::Relaxed) == before
            && handlers.in_parent.load(Ordering::Relaxed) == in_parent
            && handlers.in_child.load(Ordering::Relaxed) == in_child
    };
    if HANDLERS[..count].iter().any(is_same) {
        return 0;
    }
    let Some(free) = HANDLERS.get(count) else { return ENOMEM };
    free.before.store(before, Ordering::Relaxed);
    free.in_parent.store(in_parent, Ordering::Relaxed);
    free.in_child.store(in_child, Ordering::Relaxed);
    HANDLER_COUNT.store(count + 1, Ordering::Release);
    0
}

/// Functions that are declared as `posix_spawn` is; of what is pointed to nothing is looked at here.
macro_rules! spawns {
    ($($name:ident = $c_name:literal;)*) => { $(
        /// The C function of this name.
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            child: *mut c_int,
            program: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: *const *mut c_char,
            environment: *const *mut c_char,
        ) -> c_int {
            type Spawn = unsafe extern "C" fn(
                *mut c_int,
                *const c_char,
                *const c_void,
                *const c_void,
                *const *mut c_char,
                *const *mut c_char,
            ) -> c_int;
            static REAL: Real = Real::new($c_name);
            let Some(real) = REAL.get() else { return ENOSYS };
            // SAFETY: the C library's function of this name, and the caller's promise.
            with_counter(|| unsafe {
                transmute::<*mut c_void, Spawn>(real)(child, program, actions, attributes, arguments, environment)
            })
        }
    )* };
}

spawns! {
    posix_spawn = c"posix_spawn";
    posix_spawnp = c"posix_spawnp";
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    static REAL: Real = Real::new(c"system");
    let Some(real) = REAL.get() else { return answer(Err(ENOSYS)) as c_int };
    // SAFETY: the C library's function of this name, and the caller's promise.
    with_counter(|| unsafe {
        transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> c_int>(real)(command)
    })
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    static REAL: Real = Real::new(c"popen");
    let Some(real) = REAL.get() else {
        answer(Err(ENOSYS));
        return null_mut();
    };
    // SAFETY: the C library's function of this name, and the caller's promise.
    with_counter(|| unsafe {
        type Open = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void;
        transmute::<*mut c_void, Open>(real)(command, mode)
    })
}
