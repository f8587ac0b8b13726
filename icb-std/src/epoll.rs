//! `epoll(7)` as event loops wait with it (`mio`, and so `tokio`): this file defines the C functions `epoll_create1`,
//! `epoll_wait`, `epoll_ctl`, `eventfd`, `socketpair`, `read`, `recv`, `write`, `send` and `close`, which in an execution see to it that a
//! thread that waits for events lets others go on, that a wait with a time ends by the model's clock, and that every order of what
//! threads do to the same files is tried; otherwise they are the system's.
//!
//! Modelled: waiting for what other threads of the execution do to event counters (`eventfd(2)`, by which an event loop
//! is woken), pairs of sockets, pipes and connections between its threads ([`streams`], [`sockets`](crate::sockets)), and for time. The interest lists, counters and
//! sockets are the system's own, and are asked without waiting, one thread at a time: where there are interest lists, all of them are one object, so to speak
//! ([`open_files`](crate::open_files)). What happens to them in a way that is not seen (`splice(2)`, say) is seen when nobody else can go on. Not modelled: events that come from outside (other sockets,
//! files, timers of the system; sockets, where a signal's handler may write to them): a test that comes to wait for nothing else
//! leaves the model.

use crate::door;
use crate::open_files::{
    Files, Group, end, files, make_one, note, note_closed, note_counter, note_list, note_pair,
};
use crate::sockets::{recvfrom, sendto};
use crate::streams;
use crate::system::{self, answer_of, system};
use crate::time::WaitingTime;
use crate::{file_locks, files};
use ::std::ffi::{c_int, c_long, c_uint, c_void};
use ::std::ptr::{null, null_mut};
use ::std::time::Duration;

const EPOLL_CTL_ADD: c_int = 1;

/// Signals that nobody sends from outside to have something written: those that an error of the program raises by itself (`SIGILL`, `SIGTRAP`,
/// `SIGABRT`, `SIGBUS`, `SIGFPE`, `SIGSEGV`), of which the model handles some, and two that the C library keeps for its threads.
const OF_NO_MATTER: [usize; 8] = [4, 5, 6, 7, 8, 11, 32, 33];
const MAX_SIGNAL: usize = 64;

/// How long a thread waits at a time for what may come unseen, and how often before nothing does.
const SOME_TIME: Duration = Duration::from_secs(3600);
const MAX_WAITS: u32 = 8;

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: Functions =
    Functions { epoll_create1, epoll_wait, epoll_ctl, eventfd, socketpair, read, recv, write, send, close };

#[expect(dead_code, reason = "what is kept is the functions, for C code")]
struct Functions {
    epoll_create1: unsafe extern "C" fn(c_int) -> c_int,
    epoll_wait: unsafe extern "C" fn(c_int, usize, c_int, c_int) -> c_int,
    epoll_ctl: unsafe extern "C" fn(c_int, c_int, c_int, usize) -> c_int,
    eventfd: unsafe extern "C" fn(c_uint, c_int) -> c_int,
    socketpair: unsafe extern "C" fn(c_int, c_int, c_int, *mut [c_int; 2]) -> c_int,
    read: unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize,
    recv: unsafe extern "C" fn(c_int, *mut c_void, usize, c_int) -> isize,
    write: unsafe extern "C" fn(c_int, *const c_void, usize) -> isize,
    send: unsafe extern "C" fn(c_int, *const c_void, usize, c_int) -> isize,
    close: unsafe extern "C" fn(c_int) -> c_int,
}

impl Files {
    /// Whether whoever waits with this list may be woken by what is not seen here. Which lists share their interests cannot be seen.
    fn may_come_unseen(&self, list: c_int) -> bool {
        self.has_sockets || self.has_outside || !self.is_list(list)
    }

    /// Whether that may be done by others than the threads of the execution.
    fn may_come_from_outside(&self, list: c_int) -> bool {
        self.has_outside || !self.is_list(list) || self.has_sockets && handles_signals()
    }
}

/// Whether the program handles some signal: it may come at any time, and its handler may write (as `tokio`'s does, to a pair of sockets that
/// every event loop waits for).
pub(crate) fn handles_signals() -> bool {
    #[cfg(not(target_feature = "crt-static"))]
    return crate::signals::unless_unchanged(looks_for_handlers);
    #[cfg(target_feature = "crt-static")]
    looks_for_handlers()
}

fn looks_for_handlers() -> bool {
    (1..=MAX_SIGNAL).filter(|signal| !OF_NO_MATTER.contains(signal)).any(|signal| {
        let mut action = [0_usize; 4];
        // SAFETY: an action of the system's takes four words; the handler, or what stands for none, comes first.
        unsafe { system(system::RT_SIGACTION, signal, 0, action.as_mut_ptr().addr(), 8, 0, 0) };
        action[0] > 1
    })
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
        unsafe { system(system::EPOLL_PWAIT, epoll, events, count, timeout, 0, 0) }
    };
    let result = match door::is_modelled() {
        false if timeout < 0 && door::is_apart() => {
            let result = ask(door::PATIENCE.as_millis() as c_int);
            if result == 0 {
                door::leave_apart();
            }
            result
        }
        false => ask(timeout),
        true if timeout == 0 => {
            make_one();
            Group::REST.alone(|| ask(0))
        }
        true => wait_modelled(epoll, timeout, &ask),
    };
    answer_of(result) as c_int
}

/// A wait for events that lasts so many milliseconds, or for ever.
fn wait_modelled(epoll: c_int, timeout: c_int, ask: &dyn Fn(c_int) -> c_long) -> c_long {
    let time = u64::try_from(timeout).ok().map(Duration::from_millis).map(WaitingTime::new);
    make_one();
    door::without_unwinding(|| {
        let mut held = Group::REST.hold();
        let mut waits = 0;
        loop {
            let found = ask(0);
            if found != 0 {
                return found;
            }
            let looks_again = time.is_none() && waits < MAX_WAITS && files().may_come_unseen(epoll);
            let is_over;
            let duration = time.map(WaitingTime::left);
            let duration = duration.or(looks_again.then_some(SOME_TIME));
            (held, is_over) = Group::REST.wait_for_change(held, duration);
            if is_over && time.is_some() {
                return ask(0);
            }
            waits = if is_over { waits + 1 } else { 0 };
            if waits == MAX_WAITS && files().may_come_from_outside(epoll) {
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
    let ask =
        || unsafe { system(system::EPOLL_CTL, epoll as usize, action as usize, file as usize, event, 0, 0) };
    let result = match door::is_modelled() {
        true => {
            make_one();
            // What is waited for from now on may be there.
            Group::REST.ask_and_tell(ask)
        }
        false => ask(),
    };
    if result == 0 && action == EPOLL_CTL_ADD && door::is_modelled() {
        note(|files| {
            files.has_outside |= !files.is_inside(file);
            files.has_sockets |= files.is_socket(file);
        });
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
    let made = answer_of(unsafe { system(system::EPOLL_CREATE1, flags as usize, 0, 0, 0, 0, 0) }) as c_int;
    if made >= 0 && door::is_modelled() {
        note_list(made);
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
        answer_of(unsafe { system(system::EVENTFD2, value as usize, flags as usize, 0, 0, 0, 0) }) as c_int;
    if made >= 0 && door::is_modelled() {
        note_counter(made);
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
    let result = unsafe { system(system::SOCKETPAIR, domain, kind, protocol, made.addr(), 0, 0) };
    if result == 0 && door::is_modelled() {
        // SAFETY: the system has written the two.
        note_pair(unsafe { *made });
    }
    answer_of(result) as c_int
}

// What the system answers becomes the C function's answer last of all: `errno` is one for all threads of an execution, so that no step
// must come in between.

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn read(file: c_int, bytes: *mut c_void, count: usize) -> isize {
    files::look_into(file, true);
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::READ, file as usize, bytes.addr(), count, 0, 0, 0) };
    answer_of(streams::filled(bytes.addr(), streams::reads(file, false, ask))) as isize
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn recv(file: c_int, bytes: *mut c_void, count: usize, flags: c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe { recvfrom(file, bytes, count, flags, null_mut(), null_mut()) }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(file: c_int, bytes: *const c_void, count: usize) -> isize {
    files::look_into(file, true);
    // SAFETY: the caller's promise.
    let ask =
        |at: usize, count| unsafe { system(system::WRITE, file as usize, bytes.addr() + at, count, 0, 0, 0) };
    streams::taken(file, bytes.addr(), count);
    answer_of(streams::writes(file, false, count, ask)) as isize
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn send(file: c_int, bytes: *const c_void, count: usize, flags: c_int) -> isize {
    // SAFETY: the caller's promise.
    unsafe { sendto(file, bytes, count, flags, null(), 0) }
}

/// The C function of this name. Who is at the other end of a pair of sockets sees it; a counter has no other end, but is in lists.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn close(file: c_int) -> c_int {
    let ask = || {
        note_closed(file);
        // SAFETY: the caller's promise.
        unsafe { system(system::CLOSE, file as usize, 0, 0, 0, 0, 0) }
    };
    answer_of(end(file, || file_locks::closing(file, ask))) as c_int
}
