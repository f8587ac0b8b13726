//! `epoll(7)` as event loops wait with it (`mio`, and so `tokio`): this file defines the C functions `epoll_create1`,
//! `epoll_wait`, `epoll_ctl`, `eventfd`, `socketpair`, `read`, `recv`, `write`, `send` and `close`, which in an execution see to it that a
//! thread that waits for events lets others go on, that a wait with a time ends by the model's clock, and that every order of what
//! threads do to the same files is tried; otherwise they are the system's.
//!
//! Modelled: waiting for what other threads of the execution do to event counters (`eventfd(2)`, by which an event loop
//! is woken), pairs of sockets, pipes and connections between its threads ([`streams`], [`sockets`](crate::sockets)), and for time. The interest lists, counters and
//! sockets are the system's own, and are asked without waiting, one thread at a time: all of them are one object, so to speak. What happens
//! to them in a way that is not seen (`splice(2)`, say) is seen when nobody else can go on. Not modelled: events that come from outside (other sockets,
//! files, timers of the system; sockets, where a signal's handler may write to them): a test that comes to wait for nothing else
//! leaves the model.

use crate::door::{self, OwnGuard, OwnLock};
use crate::sockets::{recvfrom, sendto};
use crate::status::{Identity, identity};
use crate::streams;
use crate::sync::{Condvar, Mutex};
use crate::system::{self, answer_of, system};
use crate::time::WaitingTime;
use crate::{file_locks, files};
use ::std::ffi::{c_int, c_long, c_uint, c_void};
use ::std::ptr::{null, null_mut};
use ::std::sync::PoisonError;
use ::std::sync::atomic::{AtomicBool, Ordering};
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

/// What the running execution has made.
pub(crate) struct Files {
    /// Those that only the process itself writes to. Whoever does may wake somebody.
    inside: Vec<c_int>,
    /// Those, and what they were before they were closed: whether that has happened already is not asked.
    known: Vec<(c_int, Identity)>,
    /// Which of these are sockets or pipes. A duplicate (`dup(2)`) is the same one.
    sockets: Vec<Identity>,
    /// Those that have not been closed, and which they are.
    made: Vec<Made>,
    /// Those that wait for connections.
    listeners: Vec<c_int>,
    /// Interest lists.
    lists: Vec<c_int>,
    /// Such a socket is waited for.
    has_sockets: bool,
    /// Something is waited for that others write to.
    has_outside: bool,
    /// It is known that all this is to be forgotten.
    is_known: bool,
}

/// An open file, which one it is, and the thread of the system that runs the execution that has made it.
type Made = (c_int, Identity, usize);

const NONE: Files = Files {
    inside: Vec::new(),
    known: Vec::new(),
    sockets: Vec::new(),
    made: Vec::new(),
    listeners: Vec::new(),
    lists: Vec::new(),
    has_sockets: false,
    has_outside: false,
    is_known: false,
};

impl Files {
    /// A file of the execution's own; whether it has another end.
    fn insert(&mut self, file: c_int, has_other_end: bool) {
        let identity = identity(file);
        self.inside.push(file);
        self.known.push((file, identity));
        if has_other_end {
            self.sockets.push(identity);
        }
        self.note_made(file);
    }

    fn note_made(&mut self, file: c_int) {
        self.made.retain(|made| made.0 != file);
        self.made.push((file, identity(file), door::carrier()));
    }

    pub(crate) fn is_socket(&self, file: c_int) -> bool {
        !self.sockets.is_empty() && self.sockets.contains(&identity(file))
    }

    pub(crate) fn is_known(&self, file: c_int) -> bool {
        // A number that has been closed is known, until something else has got it.
        let is_it =
            |known: &(c_int, Identity)| known.0 == file && [known.1, [0, 0]].contains(&identity(file));
        self.known.iter().any(is_it) || self.is_socket(file)
    }

    fn is_inside(&self, file: c_int) -> bool {
        self.inside.contains(&file) || self.is_socket(file)
    }

    /// Whether whoever waits with this list may be woken by what is not seen here. Which lists share their interests cannot be seen.
    fn may_come_unseen(&self, list: c_int) -> bool {
        self.has_sockets || self.has_outside || !self.lists.contains(&list)
    }

    /// Whether that may be done by others than the threads of the execution.
    fn may_come_from_outside(&self, list: c_int) -> bool {
        self.has_outside || !self.lists.contains(&list) || self.has_sockets && handles_signals()
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

static FILES: OwnLock<Files> = OwnLock::new(NONE);

/// Held while it is looked whether there are events, and while something is done that may make one, or be the end of one.
static FILE_EVENTS: Mutex<()> = Mutex::new(());
/// What holds it.
pub(crate) type Held = crate::sync::MutexGuard<'static, ()>;
/// Something has been done that may be an event for somebody.
pub(crate) static FILE_READY: Condvar = Condvar::of_epoll();

/// Never held at a step.
pub(crate) fn files() -> OwnGuard<'static, Files> {
    FILES.lock()
}

/// In an execution: notes something about its files, which are gone when it is over.
fn note(change: impl FnOnce(&mut Files)) {
    let mut files = files();
    if door::forget_at_end(&mut files.is_known, forget) && IS_ANY_LEFT.load(Ordering::Relaxed) {
        door::aside(close_what_is_left);
    }
    change(&mut files);
}

/// What executions have left open whose threads could not be unwound. Statics that are put back afterwards may close some of it yet.
static LEFT: OwnLock<Vec<Made>> = OwnLock::new(Vec::new());
static IS_ANY_LEFT: AtomicBool = AtomicBool::new(false);

/// The execution is over. Threads that were left where they were have left their files open, too, and there are only so many: they are closed when the next
/// execution here makes some.
fn forget() {
    let gone = ::std::mem::replace(&mut *files(), NONE);
    if door::stacks_were_left() {
        let here = door::carrier();
        door::aside(|| LEFT.lock().extend(gone.made.iter().filter(|made| made.2 == here)));
        IS_ANY_LEFT.store(true, Ordering::Relaxed);
    }
}

/// Closes what earlier executions on this thread of the system have left open.
#[cold]
fn close_what_is_left() {
    let here = door::carrier();
    let left: Vec<Made> = LEFT.lock().extract_if(.., |made| made.2 == here).collect();
    for (file, made, _) in left {
        if identity(file) == made {
            // SAFETY: nobody goes on who knows it.
            unsafe { system(system::CLOSE, file as usize, 0, 0, 0, 0, 0) };
        }
    }
}

/// Takes what is held while files are asked.
pub(crate) fn hold() -> Held {
    FILE_EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until something has been written, or for so long. `true`: that time is over.
pub(crate) fn wait_for_change(held: Held, duration: Option<Duration>) -> (Held, bool) {
    let Some(duration) = duration else {
        return (FILE_READY.wait(held).unwrap_or_else(PoisonError::into_inner), false);
    };
    let (held, result) = FILE_READY.wait_timeout(held, duration).unwrap_or_else(PoisonError::into_inner);
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
        true if timeout == 0 => alone(|| ask(0)),
        true => wait_modelled(epoll, timeout, &ask),
    };
    answer_of(result) as c_int
}

/// A wait for events that lasts so many milliseconds, or for ever.
fn wait_modelled(epoll: c_int, timeout: c_int, ask: &dyn Fn(c_int) -> c_long) -> c_long {
    let time = u64::try_from(timeout).ok().map(Duration::from_millis).map(WaitingTime::new);
    door::without_unwinding(|| {
        let mut held = hold();
        let mut waits = 0;
        loop {
            let found = ask(0);
            if found != 0 {
                return found;
            }
            let looks_again = time.is_none() && waits < MAX_WAITS && files().may_come_unseen(epoll);
            let is_over;
            let duration = time.map(WaitingTime::left);
            (held, is_over) = wait_for_change(held, duration.or(looks_again.then_some(SOME_TIME)));
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
    // What is waited for from now on may be there.
    let result = if door::is_modelled() { ask_and_tell_all(ask) } else { ask() };
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
        note(|files| {
            files.lists.push(made);
            files.note_made(made);
        });
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
        note(|files| files.insert(made, false));
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

/// In an execution: these two have been made, the ends of one thing.
pub(crate) fn note_pair(pair: [c_int; 2]) {
    note(|files| pair.into_iter().for_each(|one| files.insert(one, true)));
}

/// Another process is started, which may have the pipes that there are: what it does to them is no part of the model.
#[cfg(all(target_arch = "x86_64", target_env = "gnu", not(target_feature = "crt-static")))]
pub(crate) fn forget_pipes() {
    let mut files = files();
    let pipes: Vec<c_int> =
        files.inside.iter().copied().filter(|&file| crate::status::is_pipe(file)).collect();
    let identities: Vec<Identity> = pipes.iter().map(|&file| identity(file)).collect();
    files.inside.retain(|file| !pipes.contains(file));
    files.known.retain(|(file, _)| !pipes.contains(file));
    files.sockets.retain(|identity| !identities.contains(identity));
}

/// In an execution: this is a socket by which its threads find each other; whether it is one that waits for connections.
pub(crate) fn note_own_socket(socket: c_int, listens: bool) {
    note(|files| {
        files.insert(socket, true);
        if listens {
            files.listeners.push(socket);
        }
    });
}

/// Whether some socket that waits for connections is this one.
pub(crate) fn is_listener(socket: c_int) -> bool {
    is_any_listener(|own| own == socket || identity(own) == identity(socket))
}

/// Whether this is so of some socket that waits for connections.
pub(crate) fn is_any_listener(is: impl Fn(c_int) -> bool) -> bool {
    files().listeners.iter().any(|&own| is(own))
}

/// Does something to a file. If it is one of the execution's own: alone, as it depends on what others do to it.
pub(crate) fn ask_alone(file: c_int, ask: impl FnOnce() -> c_long) -> c_long {
    if !door::is_modelled() || !files().is_known(file) { ask() } else { alone(|| ask_and_tell(file, ask)) }
}

/// Does it, and wakes all who wait for events, if they may see it: a socket has another end, where there is room again after a read.
fn ask_and_tell(file: c_int, ask: impl FnOnce() -> c_long) -> c_long {
    let is_socket = files().is_socket(file);
    let result = ask();
    if is_socket {
        FILE_READY.notify_all();
    }
    result
}

/// Does something to a file that may be an event for somebody, if it is one of the execution's own.
pub(crate) fn answer_to_all(file: c_int, ask: impl FnOnce() -> c_long) -> c_long {
    if door::is_modelled() && files().is_known(file) { ask_and_tell_all(ask) } else { ask() }
}

/// The same, whatever the file is.
fn ask_and_tell_all(ask: impl FnOnce() -> c_long) -> c_long {
    alone(|| {
        let result = ask();
        FILE_READY.notify_all();
        result
    })
}

pub(crate) fn alone<R>(ask: impl FnOnce() -> R) -> R {
    door::without_unwinding(|| {
        let _held = hold();
        ask()
    })
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
    answer_of(streams::reads(file, false, ask)) as isize
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
    if IS_ANY_LEFT.load(Ordering::Relaxed) {
        LEFT.lock().retain(|made| made.0 != file);
    }
    let ask = || {
        if door::is_modelled() {
            let mut files = files();
            files.inside.retain(|&known| known != file);
            files.listeners.retain(|&known| known != file);
            files.made.retain(|made| made.0 != file);
        }
        // SAFETY: the caller's promise.
        unsafe { system(system::CLOSE, file as usize, 0, 0, 0, 0, 0) }
    };
    answer_of(ask_alone(file, || file_locks::closing(file, ask))) as c_int
}
