//! Pipes and pairs of sockets between threads (`pipe(2)`, `socketpair(2)`), and counters of events (`eventfd(2)`), where threads wait for one another in them: in an execution a read where there is nothing, a
//! write where there is no room, and a wait for several (`poll(2)`) let others go on, and end when those have made that possible. What is in them is the system's, which is asked
//! without waiting, one thread at a time ([`open_files`](crate::open_files)).
//!
//! Not modelled: what may be written to from outside: files of a program that has started another process, or that handles signals; sockets that are no pair; and pipes where the mirror does
//! not see that a process is started (other systems than x86-64 Linux with glibc). A thread that waits there waits for the system.

use crate::door::{self, OwnLock};
use crate::epoll::handles_signals;
use crate::open_files::{Group, Held, answer_to_all, ask_alone, end, files, make_one};
use crate::sleeping::sleep_for;
use crate::status::is_pipe;
use crate::system::{self, answer_of, system};
use crate::time::WaitingTime;
use ::std::ffi::{c_int, c_long, c_ulong, c_void};
use ::std::sync::atomic::{AtomicBool, Ordering};
use ::std::time::Duration;

const POLL_IN: i16 = 1;
const POLL_OUT: i16 = 4;
const F_GETFL: usize = 3;
const F_SETFL: usize = 4;
const O_NONBLOCK: c_long = 0o4000;
const MSG_DONTWAIT: c_int = 0x40;
const MSG_WAITALL: c_int = 0x100;
pub(crate) const SOL_SOCKET: usize = 1;
pub(crate) const SO_TYPE: usize = 3;
const SO_RCVTIMEO: usize = 20;
const SO_SNDTIMEO: usize = 21;
pub(crate) const SOCK_STREAM: i32 = 1;
pub(crate) const SOCK_DGRAM: i32 = 2;
const EAGAIN: c_long = 11;
/// So many files are waited for at a time, as far as they are looked at again.
const MAX_WAITED_FOR: usize = 128;

/// What `poll(2)` is asked about one file.
#[repr(C)]
#[derive(Clone, Copy)]
struct Asked {
    file: c_int,
    events: i16,
    found: i16,
}

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: Functions = Functions { poll, ppoll, shutdown, readv, writev };

#[expect(dead_code, reason = "what is kept is the functions, for C code")]
struct Functions {
    poll: unsafe extern "C" fn(*mut Asked, c_ulong, c_int) -> c_int,
    ppoll: unsafe extern "C" fn(*mut Asked, c_ulong, *const [i64; 2], *const c_void) -> c_int,
    shutdown: unsafe extern "C" fn(c_int, c_int) -> c_int,
    readv: unsafe extern "C" fn(c_int, *const c_void, c_int) -> isize,
    writev: unsafe extern "C" fn(c_int, *const [usize; 2], c_int) -> isize,
}

/// Whether the running execution has started another process, which has all its files.
static HAS_CHILDREN: AtomicBool = AtomicBool::new(false);

/// In an execution: another process is started.
#[cfg(all(target_arch = "x86_64", target_env = "gnu", not(target_feature = "crt-static")))]
pub(crate) fn child_begins() {
    if !door::is_modelled() {
        return;
    }
    door::aside(crate::open_files::forget_pipes);
    if !HAS_CHILDREN.swap(true, Ordering::Relaxed) {
        door::on_execution_end(Box::new(|| HAS_CHILDREN.store(false, Ordering::Relaxed)));
    }
}

/// Whether nobody but threads of the execution can do something to its files.
fn is_between_threads() -> bool {
    !HAS_CHILDREN.load(Ordering::Relaxed) && !handles_signals()
}

/// Whether a call that finds this file not ready waits, and in the model.
fn waits_modelled(file: c_int) -> bool {
    if !door::is_modelled() || !files().is_known(file) {
        return false;
    }
    // SAFETY: the call takes a number only.
    let flags = unsafe { system(system::FCNTL, file as usize, F_GETFL, 0, 0, 0, 0) };
    flags >= 0 && flags & O_NONBLOCK == 0 && is_between_threads()
}

/// Asks the system about files, without waiting.
fn ask(asked: &mut [Asked]) -> c_long {
    let mut zero = [0_i64; 2];
    let (start, count) = (asked.as_mut_ptr().addr(), asked.len());
    // SAFETY: the files and the time are there.
    unsafe { system(system::PPOLL, start, count, (&raw mut zero).addr(), 0, 8, 0) }
}

/// An option of a socket.
pub(crate) fn option<T: Copy>(file: c_int, name: usize, nothing: T) -> Option<T> {
    let mut value = nothing;
    let mut size = size_of::<T>() as u32;
    let (value_at, size_at) = ((&raw mut value).addr(), (&raw mut size).addr());
    // SAFETY: there is room for so much.
    let result = unsafe { system(system::GETSOCKOPT, file as usize, SOL_SOCKET, name, value_at, size_at, 0) };
    (result == 0).then_some(value)
}

/// How long a read of this file waits, or a write, if it is a socket with such a limit.
fn limit(file: c_int, name: usize) -> Option<WaitingTime> {
    let [seconds, microseconds] = option(file, name, [0_i64; 2])?;
    let time = Duration::new(seconds.unsigned_abs(), microseconds.unsigned_abs() as u32 * 1000);
    (!time.is_zero()).then(|| WaitingTime::new(time))
}

/// What threads wait for.
struct WaitedFor {
    files: [Asked; MAX_WAITED_FOR],
    count: usize,
    /// It is known that all this is to be forgotten, and who asks for it.
    is_used: bool,
}

static WAITED_FOR: OwnLock<WaitedFor> = OwnLock::new(WaitedFor {
    files: [Asked { file: -1, events: 0, found: 0 }; MAX_WAITED_FOR],
    count: 0,
    is_used: false,
});

/// Nobody can go on. Whether that is because somebody waits for what the model does not see: what others may write, or what has been written in a way of its own.
fn comes_unseen() -> Option<&'static str> {
    let mut waited_for = WAITED_FOR.lock();
    let count = waited_for.count;
    if count == 0 {
        return None;
    }
    if HAS_CHILDREN.load(Ordering::Relaxed) {
        return Some("it waits for what another process may write");
    }
    if handles_signals() {
        return Some("it waits for what a signal's handler may write");
    }
    (ask(&mut waited_for.files[..count]) != 0).then_some(
        "a file for which a thread waits has become ready in a way that is not seen (`vmsplice`, say)",
    )
}

/// Waits for a change in their group, for the sake of these files.
fn wait_for_files(group: Group, held: Held, asked: &[Asked], time: Option<WaitingTime>) -> (Held, bool) {
    let mut waited_for = WAITED_FOR.lock();
    let forget = || {
        let mut waited_for = WAITED_FOR.lock();
        (waited_for.count, waited_for.is_used) = (0, false);
    };
    if door::forget_at_end(&mut waited_for.is_used, forget) {
        door::on_deadlock(comes_unseen);
    }
    let known = asked.len().min(MAX_WAITED_FOR - waited_for.count);
    for one in &asked[..known] {
        let count = waited_for.count;
        waited_for.files[count] = *one;
        waited_for.count += 1;
    }
    drop(waited_for);
    let result = group.wait_for_change(held, time.map(WaitingTime::left));
    let mut waited_for = WAITED_FOR.lock();
    for one in &asked[..known] {
        let count = waited_for.count;
        let is_it = |other: &Asked| (other.file, other.events) == (one.file, one.events);
        if let Some(at) = waited_for.files[..count].iter().rposition(is_it) {
            waited_for.files[at] = waited_for.files[count - 1];
            waited_for.count -= 1;
        }
    }
    drop(waited_for);
    result
}

/// Does something to a file that would wait, without waiting. (Nobody else runs meanwhile who would see how.)
fn at_once(file: c_int, act: &dyn Fn() -> c_long) -> c_long {
    let set = |flags: c_long| {
        // SAFETY: the call takes numbers only.
        unsafe { system(system::FCNTL, file as usize, F_SETFL, flags as usize, 0, 0, 0) }
    };
    // SAFETY: as above.
    let flags = unsafe { system(system::FCNTL, file as usize, F_GETFL, 0, 0, 0, 0) };
    set(flags | O_NONBLOCK);
    let result = act();
    set(flags);
    result
}

/// Does something to a file as soon as that is possible, and tells all who wait.
fn when_ready(file: c_int, events: i16, time: Option<WaitingTime>, act: &dyn Fn() -> c_long) -> c_long {
    let group = files().group(file);
    door::without_unwinding(|| {
        let mut held = group.hold();
        loop {
            let result = at_once(file, act);
            if result != -EAGAIN {
                group.tell();
                return result;
            }
            let is_over;
            (held, is_over) = wait_for_files(group, held, &[Asked { file, events, found: 0 }], time);
            if is_over && time.is_some() {
                return -EAGAIN;
            }
        }
    })
}

/// Reads a file by `act`, which does not wait if `at_once`.
pub(crate) fn reads(file: c_int, at_once: bool, act: impl Fn() -> c_long) -> c_long {
    if at_once || !waits_modelled(file) {
        return ask_alone(file, act);
    }
    when_ready(file, POLL_IN, limit(file, SO_RCVTIMEO), &act)
}

/// Reads so many bytes from a socket by `act`, which is told where they go and how many there are, with these flags.
pub(crate) fn receives(
    socket: c_int,
    flags: c_int,
    count: usize,
    act: impl Fn(usize, usize) -> c_long,
) -> c_long {
    if flags & MSG_WAITALL == 0 || is_at_once(flags) || !waits_modelled(socket) {
        return reads(socket, is_at_once(flags), || act(0, count));
    }
    in_parts(count, |at, count| reads(socket, false, || act(at, count)))
}

/// Does something with so many bytes by `act`, which is told where it begins and how many are left, until all is done or nothing more can be.
fn in_parts(count: usize, act: impl Fn(usize, usize) -> c_long) -> c_long {
    let mut done = 0;
    loop {
        let result = act(done, count - done);
        if result <= 0 {
            return if done > 0 { done as c_long } else { result };
        }
        done += result as usize;
        if done >= count {
            return done as c_long;
        }
    }
}

/// Writes so many bytes to a file by `act`, which is told where they begin and how many there are, and does not wait if `at_once`.
pub(crate) fn writes(
    file: c_int,
    at_once: bool,
    count: usize,
    act: impl Fn(usize, usize) -> c_long,
) -> c_long {
    if at_once || !waits_modelled(file) {
        // A signal's handler, which may be what calls this, must neither take a lock nor let others go on.
        let may_be_handler = door::is_modelled() && files().is_socket(file) && handles_signals();
        return if may_be_handler { act(0, count) } else { answer_to_all(file, || act(0, count)) };
    }
    let write = |at, count| when_ready(file, POLL_OUT, limit(file, SO_SNDTIMEO), &|| act(at, count));
    if is_stream(file) { in_parts(count, write) } else { write(0, count) }
}

/// Whether what is written there may be taken in parts: a pipe, or a socket that knows no messages.
fn is_stream(file: c_int) -> bool {
    is_pipe(file) || option(file, SO_TYPE, 0_i32) == Some(SOCK_STREAM)
}

/// Whether a flag of `send` and `recv` says that they are not to wait.
pub(crate) const fn is_at_once(flags: c_int) -> bool {
    flags & MSG_DONTWAIT != 0
}

/// The object of the model that these files are, together.
fn group_of_all(asked: &[Asked]) -> Group {
    let mut groups = asked.iter().filter(|one| one.file >= 0).map(|one| files().group(one.file));
    let first = groups.next().unwrap_or(Group::REST);
    if groups.all(|group| group == first) {
        return first;
    }
    make_one();
    Group::REST
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn poll(asked: *mut Asked, count: c_ulong, timeout: c_int) -> c_int {
    let time = u64::try_from(timeout).ok().map(Duration::from_millis);
    // SAFETY: the caller's promise.
    answer_of(unsafe { poll_for(asked, count as usize, time, 0) }) as c_int
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    asked: *mut Asked,
    count: c_ulong,
    time: *const [i64; 2],
    signals: *const c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let time = unsafe { time.as_ref() };
    let time = time.map(|time| Duration::new(time[0].unsigned_abs(), time[1].unsigned_abs() as u32));
    // SAFETY: the caller's promise.
    answer_of(unsafe { poll_for(asked, count as usize, time, signals.addr()) }) as c_int
}

/// # Safety
/// As the C functions.
unsafe fn poll_for(asked: *mut Asked, count: usize, time: Option<Duration>, signals: usize) -> c_long {
    // SAFETY: the caller's promise.
    let files = || unsafe { ::std::slice::from_raw_parts_mut(asked, count) };
    let is_ours = || {
        let mut asked = files().iter().filter(|one| one.file >= 0).peekable();
        asked.peek().is_none()
            || asked.all(|one| crate::open_files::files().is_known(one.file)) && is_between_threads()
    };
    let real = || {
        // The system writes there how much is left.
        let mut time = time.map(|time| [time.as_secs() as i64, i64::from(time.subsec_nanos())]);
        let time = time.as_mut().map_or(0, |time| (&raw mut *time).addr());
        // SAFETY: the caller's promise.
        unsafe { system(system::PPOLL, asked.addr(), count, time, signals, 8, 0) }
    };
    if !door::is_modelled() || signals != 0 || count > 0 && (asked.is_null() || !is_ours()) {
        return real();
    }
    match time {
        Some(time) if count == 0 => {
            sleep_for(time);
            return 0;
        }
        _ => {}
    }
    let files = || if count == 0 { &mut [][..] } else { files() };
    let group = group_of_all(files());
    if time == Some(Duration::ZERO) {
        return group.alone(real);
    }
    let time = time.map(WaitingTime::new);
    door::without_unwinding(|| {
        let mut held = group.hold();
        loop {
            let found = ask(files());
            if found != 0 {
                return found;
            }
            let is_over;
            (held, is_over) = wait_for_files(group, held, files(), time);
            if is_over && time.is_some() {
                return ask(files());
            }
        }
    })
}

/// The C function of this name. Who is at the other end sees it.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn shutdown(file: c_int, how: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::SHUTDOWN, file as usize, how as usize, 0, 0, 0, 0) };
    answer_of(end(file, ask)) as c_int
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn readv(file: c_int, parts: *const c_void, count: c_int) -> isize {
    crate::files::look_into(file, true);
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::READV, file as usize, parts.addr(), count as usize, 0, 0, 0) };
    let answer = reads(file, false, ask);
    let mut left = answer;
    // SAFETY: the caller's promise.
    for &[start, size] in unsafe { parts_at(parts.cast(), count) } {
        filled(start, left.min(size as c_long));
        left -= size as c_long;
    }
    answer_of(answer) as isize
}

/// # Safety
/// So many parts are there, if the address is not null.
unsafe fn parts_at<'a>(parts: *const [usize; 2], count: c_int) -> &'a [[usize; 2]] {
    if parts.is_null() || count < 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { ::std::slice::from_raw_parts(parts, count as usize) }
}

/// The system has answered that so many bytes are in this memory now. Its answer.
pub(crate) fn filled(start: usize, answer: c_long) -> c_long {
    if answer > 0 && door::is_modelled() {
        door::without_unwinding(|| door::memory_used(start, answer as usize, true));
    }
    answer
}

/// The system is about to read this memory, for a file. What goes to the standard streams is not looked at: their locks are not mirrored.
pub(crate) fn taken(file: c_int, start: usize, count: usize) {
    if file > 2 && door::is_modelled() {
        door::without_unwinding(|| door::memory_used(start, count, false));
    }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(file: c_int, parts: *const [usize; 2], count: c_int) -> isize {
    crate::files::look_into(file, true);
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::WRITEV, file as usize, parts.addr(), count as usize, 0, 0, 0) };
    // SAFETY: the caller's promise.
    for &[start, size] in unsafe { parts_at(parts, count) } {
        taken(file, start, size);
    }
    if !waits_modelled(file) {
        return answer_of(answer_to_all(file, ask)) as isize;
    }
    let mut written = when_ready(file, POLL_OUT, limit(file, SO_SNDTIMEO), &ask);
    if written < 0 || !is_stream(file) {
        return answer_of(written) as isize;
    }
    // What has not fitted, part for part.
    let mut before = 0;
    // SAFETY: the caller's promise.
    for &[start, size] in unsafe { ::std::slice::from_raw_parts(parts, count as usize) } {
        let done = (written as usize).saturating_sub(before).min(size);
        before += size;
        if done < size {
            // SAFETY: the caller's promise.
            let rest = writes(file, false, size - done, |at, count| unsafe {
                system(system::WRITE, file as usize, start + done + at, count, 0, 0, 0)
            });
            if rest < 0 {
                break;
            }
            written += rest;
        }
    }
    written as isize
}

#[cfg(all(target_arch = "x86_64", target_env = "gnu", not(target_feature = "crt-static")))]
mod pipes {
    use super::{HAS_CHILDREN, Ordering, answer_of, c_int, door, system};
    use crate::open_files::note_pair;

    #[used]
    static KEEP: (
        unsafe extern "C" fn(*mut [c_int; 2]) -> c_int,
        unsafe extern "C" fn(*mut [c_int; 2], c_int) -> c_int,
    ) = (pipe, pipe2);

    /// The C function of this name.
    ///
    /// # Safety
    /// As the C function.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn pipe(made: *mut [c_int; 2]) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { pipe2(made, 0) }
    }

    /// The C function of this name.
    ///
    /// # Safety
    /// As the C function.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn pipe2(made: *mut [c_int; 2], flags: c_int) -> c_int {
        // SAFETY: the caller's promise.
        let result = unsafe { system::system(system::PIPE2, made.addr(), flags as usize, 0, 0, 0, 0) };
        if result == 0 && door::is_modelled() && !HAS_CHILDREN.load(Ordering::Relaxed) {
            // SAFETY: the system has written the two.
            note_pair(unsafe { *made });
        }
        answer_of(result) as c_int
    }
}
