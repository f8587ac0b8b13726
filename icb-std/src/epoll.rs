//! `epoll(7)` as event loops wait with it (`mio`, and so `tokio`): this file defines the C functions `epoll_create1`,
//! `epoll_wait`, `epoll_ctl`, `eventfd`, `socketpair` and `write`, which in an execution see to it that a thread that waits
//! for events lets others go on, and that a wait with a time ends by the model's clock; otherwise they are the system's.
//!
//! Modelled: waiting for what other threads of the execution write to an event counter (`eventfd(2)`, by which an event loop
//! is woken) or to a pair of sockets that the process has made for itself, and for time. The interest lists, counters and
//! sockets are the system's own, and are asked without waiting. Not modelled: events that come from outside (other sockets,
//! files, timers of the system): a test that comes to wait for nothing else leaves the model.

use crate::door;
use crate::futex::{answer_of, system};
use crate::sync::{Condvar, Mutex};
use ::std::ffi::{c_int, c_long, c_uint};
use ::std::sync::{MutexGuard, PoisonError};
use ::std::time::Duration;

const SYS_WRITE: c_long = 1;
const SYS_SOCKETPAIR: c_long = 53;
const SYS_EPOLL_WAIT: c_long = 232;
const SYS_EPOLL_CTL: c_long = 233;
pub(crate) const SYS_EVENTFD2: c_long = 290;
const SYS_EPOLL_CREATE1: c_long = 291;
const EPOLL_CTL_ADD: c_int = 1;

/// How long a thread waits at a time for what may come from outside, and how often before that is what it waits for.
const SOME_TIME: Duration = Duration::from_secs(3600);
const MAX_WAITS: u32 = 8;

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: Functions = Functions { epoll_create1, epoll_wait, epoll_ctl, eventfd, socketpair, write };

#[expect(dead_code, reason = "what is kept is the functions, for C code")]
struct Functions {
    epoll_create1: unsafe extern "C" fn(c_int) -> c_int,
    epoll_wait: unsafe extern "C" fn(c_int, usize, c_int, c_int) -> c_int,
    epoll_ctl: unsafe extern "C" fn(c_int, c_int, c_int, usize) -> c_int,
    eventfd: unsafe extern "C" fn(c_uint, c_int) -> c_int,
    socketpair: unsafe extern "C" fn(c_int, c_int, c_int, *mut [c_int; 2]) -> c_int,
    write: unsafe extern "C" fn(c_int, usize, usize) -> isize,
}

/// What the running execution has made.
struct Files {
    /// Those that only the process itself writes to. Whoever does may wake somebody.
    inside: Vec<c_int>,
    /// Interest lists.
    lists: Vec<c_int>,
    /// Something is waited for that others write to.
    has_outside: bool,
    /// It is known that all this is to be forgotten.
    is_known: bool,
}

const NONE: Files = Files { inside: Vec::new(), lists: Vec::new(), has_outside: false, is_known: false };

impl Files {
    /// Whether whoever waits with this list may be woken from outside. Which lists share their interests cannot be seen.
    fn may_come_from_outside(&self, list: c_int) -> bool {
        self.has_outside || !self.lists.contains(&list)
    }
}

static FILES: ::std::sync::Mutex<Files> = ::std::sync::Mutex::new(NONE);

/// Held while it is looked whether there are events, and while something is written that may be one.
static EVENTS: Mutex<()> = Mutex::new(());
/// What holds it.
type Held = crate::sync::MutexGuard<'static, ()>;
/// Something has been written.
static CHANGED: Condvar = Condvar::new();

/// Never held at a step.
fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In an execution: notes something about its files, which are gone when it is over.
fn note(change: impl FnOnce(&mut Files)) {
    let mut files = files();
    if !::std::mem::replace(&mut files.is_known, true) {
        door::on_execution_end(Box::new(|| drop(::std::mem::replace(&mut *self::files(), NONE))));
    }
    change(&mut files);
}

/// Waits until something has been written, or for so long. `true`: that time is over.
fn wait_for_change(held: Held, duration: Option<Duration>) -> (Held, bool) {
    let Some(duration) = duration else {
        return (CHANGED.wait(held).unwrap_or_else(PoisonError::into_inner), false);
    };
    let (held, result) = CHANGED.wait_timeout(held, duration).unwrap_or_else(PoisonError::into_inner);
    (held, result.timed_out())
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(epoll: c_int, events: usize, count: c_int, timeout: c_int) -> c_int {
    let ask = |timeout: c_int| {
        let (epoll, count, timeout) = (epoll as usize, count as usize, timeout as usize);
        // SAFETY: the caller's promise.
        let result = unsafe { system(SYS_EPOLL_WAIT, epoll, events, count, timeout, 0, 0) };
        answer_of(result) as c_int
    };
    if timeout == 0 || !door::is_modelled() {
        return ask(timeout);
    }
    let duration = u64::try_from(timeout).ok().map(Duration::from_millis);
    door::without_unwinding(|| {
        let mut held = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waits = 0;
        loop {
            let found = ask(0);
            if found != 0 {
                return found;
            }
            let may_be_in_vain = duration.is_none() && files().may_come_from_outside(epoll);
            let is_over;
            (held, is_over) = wait_for_change(held, duration.or(may_be_in_vain.then_some(SOME_TIME)));
            if is_over && duration.is_some() {
                return ask(0);
            }
            waits = if is_over { waits + 1 } else { 0 };
            if waits == MAX_WAITS {
                drop(held);
                door::outside("it waits for events that come from outside (sockets, files, timers)");
                return 0;
            }
        }
    })
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(epoll: c_int, action: c_int, file: c_int, event: usize) -> c_int {
    // SAFETY: the caller's promise.
    let result =
        unsafe { system(SYS_EPOLL_CTL, epoll as usize, action as usize, file as usize, event, 0, 0) };
    if result == 0 && action == EPOLL_CTL_ADD && door::is_modelled() {
        note(|files| files.has_outside |= !files.inside.contains(&file));
    }
    answer_of(result) as c_int
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let made = answer_of(unsafe { system(SYS_EPOLL_CREATE1, flags as usize, 0, 0, 0, 0, 0) }) as c_int;
    if made >= 0 && door::is_modelled() {
        note(|files| files.lists.push(made));
    }
    made
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn eventfd(value: c_uint, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let made =
        answer_of(unsafe { system(SYS_EVENTFD2, value as usize, flags as usize, 0, 0, 0, 0) }) as c_int;
    if made >= 0 && door::is_modelled() {
        note(|files| files.inside.push(made));
    }
    made
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(domain: c_int, kind: c_int, protocol: c_int, made: *mut [c_int; 2]) -> c_int {
    let (domain, kind, protocol) = (domain as usize, kind as usize, protocol as usize);
    // SAFETY: the caller's promise.
    let result = unsafe { system(SYS_SOCKETPAIR, domain, kind, protocol, made.addr(), 0, 0) };
    if result == 0 && door::is_modelled() {
        // SAFETY: the system has written the two.
        let pair = unsafe { *made };
        note(|files| files.inside.extend(pair));
    }
    answer_of(result) as c_int
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(file: c_int, bytes: usize, count: usize) -> isize {
    let ask = || {
        // SAFETY: the caller's promise.
        answer_of(unsafe { system(SYS_WRITE, file as usize, bytes, count, 0, 0, 0) }) as isize
    };
    if !door::is_modelled() || !files().inside.contains(&file) {
        return ask();
    }
    door::without_unwinding(|| {
        let _held = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let written = ask();
        CHANGED.notify_all();
        written
    })
}
