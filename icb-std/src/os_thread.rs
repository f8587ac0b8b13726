//! Which thread of the system somebody is: all threads of an execution are one there, and whoever asks for it (as owner of a lock that may be taken
//! twice, say) would take them for each other. So each of them has a `pthread_t` and a `gettid` of its own, the same in every execution. What
//! is asked of the system about such a `pthread_t` is asked about the thread that they all are, but for the stack, and the processors that it may
//! run on, which each has: there are as many as `available_parallelism` says. Not modelled: that a thread which is begun gets those of whoever begins it.
//! Numbers of `gettid` are none of the system's.

use crate::c_library::Real;
use crate::door;
use crate::system::{self, answer_of, system};
use crate::thread::MODELLED_PARALLELISM;
use ::std::cell::Cell;
use ::std::ffi::{c_int, c_void};
use ::std::mem::transmute;

/// What a `pthread_t` of ours points to: nothing that the C library would take for a thread that it knows, should it look there.
#[repr(C, align(64))]
struct Identity {
    mark: usize,
    /// The processors that it may run on, one bit each.
    processors: Cell<usize>,
    nothing: [usize; 510],
}

/// No C library begins a thread's block with this: it is no address.
const MARK: usize = 0x8000_6963_625F_0001;
/// The greatest number of a thread that Linux gives.
const MAX_NUMBER: u64 = 1 << 22;
/// The processors that there are in an execution.
const PROCESSORS: usize = (1 << MODELLED_PARALLELISM.get()) - 1;
const ESRCH: c_int = 3;
const EINVAL: c_int = 22;
const ENOSYS: c_int = 38;

crate::thread_local! {
    static IDENTITY: Identity = const {
        Identity { mark: MARK, processors: Cell::new(PROCESSORS), nothing: [0; 510] }
    };
}

::std::thread_local! {
    /// Stands for what a program that is linked statically cannot be told.
    static UNTOLD: u8 = const { 0 };
}

type OfThread = unsafe extern "C" fn(usize, usize, usize, usize) -> c_int;

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: (extern "C" fn() -> usize, extern "C" fn() -> c_int) = (pthread_self, gettid);

/// The C function of this name.
#[unsafe(no_mangle)]
extern "C" fn pthread_self() -> usize {
    if door::is_modelled() {
        return IDENTITY.with(|identity| (&raw const *identity).expose_provenance());
    }
    real_self()
}

fn real_self() -> usize {
    static REAL: Real = Real::new(c"pthread_self");
    let Some(real) = REAL.get() else { return UNTOLD.with(|place| (&raw const *place).addr()) };
    // SAFETY: the C library's function of this name.
    unsafe { transmute::<*mut c_void, extern "C" fn() -> usize>(real)() }
}

/// The C function of this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn gettid() -> c_int {
    if door::is_modelled() {
        let number = door::mixed(door::thread_key()) % (c_int::MAX as u64 - MAX_NUMBER);
        return (MAX_NUMBER + 1 + number) as c_int;
    }
    // SAFETY: takes nothing and always succeeds.
    answer_of(unsafe { system(system::GETTID, 0, 0, 0, 0, 0, 0) }) as c_int
}

/// Whether it is a `pthread_t` that [`pthread_self`] has given to a thread of an execution.
///
/// # Safety
/// It is a `pthread_t` of a thread that has not ended, or of nobody.
unsafe fn is_ours(thread: usize) -> bool {
    // SAFETY: C libraries for Linux have a thread's block there.
    door::is_modelled()
        && thread > 4096
        && unsafe { *::std::ptr::with_exposed_provenance::<usize>(thread) == MARK }
}

/// Asks the C library about a thread.
///
/// # Safety
/// As the function of that name.
unsafe fn ask(real: &Real, thread: usize, a: usize, b: usize, c: usize) -> c_int {
    let Some(real) = real.get() else { return ENOSYS };
    // SAFETY: the caller's promise; such a function takes no more than these, and ignores what it does not take.
    unsafe {
        let thread = if is_ours(thread) { real_self() } else { thread };
        transmute::<*mut c_void, OfThread>(real)(thread, a, b, c)
    }
}

/// The C library's function of this name.
macro_rules! real {
    ($name:ident) => {{
        const NAME: &::std::ffi::CStr =
            match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!(),
            };
        static REAL: Real = Real::new(NAME);
        &REAL
    }};
}

macro_rules! about_a_thread {
    ($($name:ident)*) => {$(
        /// The C function of this name.
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(thread: usize, a: usize, b: usize, c: usize) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { ask(real!($name), thread, a, b, c) }
        }
    )*};
}

about_a_thread! {
    pthread_kill pthread_sigqueue pthread_getcpuclockid pthread_setname_np pthread_getname_np
    pthread_setschedparam pthread_getschedparam pthread_setschedprio
}

/// Takes the processors that a thread may run on from a set of this size in bytes.
///
/// # Safety
/// The set can be read.
unsafe fn set_processors(identity: &Identity, size: usize, set: *const u8) -> Result<(), c_int> {
    // SAFETY: the caller's promise.
    let first = if size == 0 { 0 } else { unsafe { *set } };
    let processors = usize::from(first) & PROCESSORS;
    if processors == 0 {
        return Err(EINVAL);
    }
    identity.processors.set(processors);
    Ok(())
}

/// Tells the processors that a thread may run on, in a set of this size in bytes.
///
/// # Safety
/// The set can be written.
unsafe fn get_processors(identity: &Identity, size: usize, set: *mut u8) -> Result<(), c_int> {
    if size == 0 || !size.is_multiple_of(size_of::<usize>()) {
        return Err(EINVAL);
    }
    // SAFETY: the caller's promise.
    unsafe {
        set.write_bytes(0, size);
        *set = identity.processors.get() as u8;
    }
    Ok(())
}

/// Whether it is the calling thread that a process number means here, in an execution.
fn means_me(number: c_int) -> bool {
    door::is_modelled() && (number == 0 || number == gettid())
}

type OfProcess = unsafe extern "C" fn(c_int, usize, *mut u8) -> c_int;

/// For each: by a process number, by a `pthread_t`, and what is done to a thread of an execution.
macro_rules! about_processors {
    ($($by_number:ident $by_thread:ident $own:ident;)*) => {$(
        /// The C function of this name.
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $by_number(number: c_int, size: usize, set: *mut u8) -> c_int {
            // SAFETY: the caller's promise.
            unsafe {
                if means_me(number) {
                    return system::answer(IDENTITY.with(|identity| $own(identity, size, set))) as c_int;
                }
                let Some(real) = real!($by_number).get() else {
                    return system::answer(Err(ENOSYS)) as c_int;
                };
                transmute::<*mut c_void, OfProcess>(real)(number, size, set)
            }
        }

        /// The C function of this name.
        ///
        /// # Safety
        /// As the C function.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $by_thread(thread: usize, size: usize, set: *mut u8) -> c_int {
            // SAFETY: the caller's promise; what begins with the mark is an identity.
            unsafe {
                if is_ours(thread) {
                    let identity = &*::std::ptr::with_exposed_provenance::<Identity>(thread);
                    return $own(identity, size, set).err().unwrap_or(0);
                }
                ask(real!($by_thread), thread, size, set.expose_provenance(), 0)
            }
        }
    )*};
}

about_processors! {
    sched_setaffinity pthread_setaffinity_np set_processors;
    sched_getaffinity pthread_getaffinity_np get_processors;
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(thread: usize, attributes: *mut c_void) -> c_int {
    unsafe extern "C" {
        fn pthread_attr_setstack(attributes: *mut c_void, address: usize, size: usize) -> c_int;
    }
    static REAL: Real = Real::new(c"pthread_getattr_np");
    // SAFETY: the caller's promise.
    unsafe {
        let modelled = is_ours(thread);
        if modelled && thread != pthread_self() {
            return ESRCH;
        }
        let result = ask(&REAL, thread, attributes.expose_provenance(), 0, 0);
        match door::running_stack() {
            Some(stack) if modelled && result == 0 => {
                pthread_attr_setstack(attributes, stack.start, stack.end - stack.start)
            }
            _ => result,
        }
    }
}
