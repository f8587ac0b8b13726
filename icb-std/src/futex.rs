//! `futex(2)` as crates call it that do not block through std (`parking_lot_core` and others): this file defines the C
//! function `syscall`, which in an execution serves waiting and waking itself, and otherwise is the system's.
//!
//! Modelled: `FUTEX_WAIT`, `FUTEX_WAIT_BITSET`, `FUTEX_WAKE`, `FUTEX_WAKE_BITSET`, on a queue for each address, whose lock and
//! condition variable are those of this crate; who waits longest is woken first. A wait until a point in time, whose clock is
//! not the model's, waits for [`SOME_TIME`]. Not modelled: requeueing, `FUTEX_WAKE_OP`, priority inheritance; these, and every
//! other system call, go to the system.

use crate::door::{self, OwnLock};
use crate::entropy::getrandom;
use crate::epoll::eventfd;
use crate::membarrier::membarrier;
#[cfg(not(target_feature = "crt-static"))]
use crate::os_thread::gettid;
use crate::raw;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Condvar, Mutex};
use crate::system::{self, answer, answer_of, system};
use crate::time::WaitingTime;
use crate::timer_file::timerfd_create;
use crate::unmapping::munmap;
use ::std::collections::{HashMap, VecDeque};
use ::std::ffi::{c_int, c_long, c_uint};
use ::std::sync::Arc;
use ::std::sync::PoisonError;
use ::std::time::Duration;

/// Flags of an operation that change nothing here: private to the process, and which clock is meant.
const FLAGS: c_int = PRIVATE | 256;
const PRIVATE: c_int = 128;
const WAIT: c_int = 0;
const WAKE: c_int = 1;
const WAIT_BITSET: c_int = 9;
const WAKE_BITSET: c_int = 10;
/// What those wait for, and wake, that name no bits.
const ANY: u32 = u32::MAX;
const EAGAIN: c_int = 11;
const EINVAL: c_int = 22;
const ETIMEDOUT: c_int = 110;
/// How long a wait takes whose end is given by a clock that is not the model's.
const SOME_TIME: Duration = Duration::from_millis(1);

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long = syscall;

/// The C function of this name, which takes up to six arguments.
///
/// # Safety
/// As the system call.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == system::FUTEX && door::is_modelled() {
        let command = b as c_int & !FLAGS;
        let bits = if matches!(command, WAIT_BITSET | WAKE_BITSET) { f as u32 } else { ANY };
        match command {
            WAIT_BITSET | WAKE_BITSET if bits == 0 => return answer(Err(EINVAL)),
            // SAFETY: the caller gives the address of a futex and, if any, that of a time.
            WAIT | WAIT_BITSET => unsafe {
                let time = (d as *const [i64; 2]).as_ref();
                let duration = time.map(|&[seconds, nanoseconds]| match command {
                    WAIT => Duration::new(seconds.unsigned_abs(), nanoseconds.unsigned_abs() as u32),
                    _ => SOME_TIME,
                });
                return answer(seen_before_and_after(a, || wait(a, c as u32, bits, duration)));
            },
            WAKE | WAKE_BITSET => {
                let woken = seen_before_and_after(a, || wake(a, c as u32, bits));
                // A thread that the model does not have may wait for what both use (the lock of the standard output).
                // SAFETY: the caller's promise.
                unsafe { system(number, a, b, c, d, e, f) };
                return woken;
            }
            _ => {}
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        if number == system::FUTEX
            && matches!(b as c_int & !FLAGS, WAIT | WAIT_BITSET)
            && d == 0
            && door::is_apart()
        {
            return wait_apart(a, b as c_int & PRIVATE, c);
        }
        match number {
            // What has a C function of its own here may come this way too, as `rustix` calls it.
            system::EVENTFD2 => c_long::from(eventfd(a as c_uint, b as c_int)),
            system::TIMERFD_CREATE => c_long::from(timerfd_create(a as c_int, b as c_int)),
            system::GETRANDOM => {
                getrandom(::std::ptr::with_exposed_provenance_mut(a), b, c as c_uint) as c_long
            }
            #[cfg(not(target_feature = "crt-static"))]
            system::GETTID => c_long::from(gettid()),
            system::MUNMAP => c_long::from(munmap(::std::ptr::with_exposed_provenance_mut(a), b)),
            system::MEMBARRIER => membarrier(number, a, b, c),
            _ => answer_of(system(number, a, b, c, d, e, f)),
        }
    }
}

/// Runs `f`, which code calls that must not be unwound, and what that does to the futex at the address, and to others, may not be seen.
fn seen_before_and_after<R>(address: usize, f: impl FnOnce() -> R) -> R {
    door::futex_used(address);
    let result = door::without_unwinding(f);
    door::futex_used(address);
    result
}

/// Those who wait at one address.
struct Queue {
    state: Mutex<State>,
    woken: Condvar,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { state: Mutex::default(), woken: Condvar::of_futex() }
    }
}

#[derive(Default)]
struct State {
    /// Their tickets, and the bits that they wait for.
    waiting: VecDeque<(u64, u32)>,
    woken: Vec<u64>,
    next: u64,
}

/// The queues of the running execution, by address.
static QUEUES: OwnLock<Option<HashMap<usize, Arc<Queue>>>> = OwnLock::new(None);

fn queue(address: usize) -> Arc<Queue> {
    let mut queues = QUEUES.lock();
    if queues.is_none() {
        door::on_execution_end(Box::new(|| {
            let queues = QUEUES.lock().take();
            drop(queues);
        }));
    }
    queues.get_or_insert_default().entry(address).or_default().clone()
}

/// # Safety
/// There is a futex at the address.
unsafe fn wait(address: usize, expected: u32, bits: u32, duration: Option<Duration>) -> Result<(), c_int> {
    let queue = queue(address);
    let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
    // It is looked at under the lock of the queue, so nobody can change it and wake between the look and the wait.
    // SAFETY: the caller's promise; a futex is an atomic of this size, and the mirrored type has std's layout.
    let variable = unsafe { &*(address as *const AtomicU32) };
    let found = match door::is_foreign(address) {
        // SAFETY: the variable is alive.
        true => unsafe { raw::load(variable.as_ptr()) },
        false => variable.load(Ordering::SeqCst),
    };
    door::futex_used(address);
    if found != expected {
        return Err(EAGAIN);
    }
    let ticket = state.next;
    state.next += 1;
    state.waiting.push_back((ticket, bits));
    let time = duration.map(WaitingTime::new);
    loop {
        let mut timed_out = false;
        state = match time {
            None => queue.woken.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                let waited = queue.woken.wait_timeout(state, time.left());
                let (state, result) = waited.unwrap_or_else(PoisonError::into_inner);
                timed_out = result.timed_out();
                state
            }
        };
        if let Some(at) = state.woken.iter().position(|&woken| woken == ticket) {
            state.woken.swap_remove(at);
            return Ok(());
        }
        if timed_out {
            state.waiting.retain(|&(waiting, _)| waiting != ticket);
            return Err(ETIMEDOUT);
        }
    }
}

/// Who waits for ever when all is over waits for threads that are gone, unless one of the system's, which knows nothing of the model, comes at once.
///
/// # Safety
/// There is a futex at the address.
unsafe fn wait_apart(address: usize, private: c_int, expected: usize) -> c_long {
    let time = [0_i64, door::PATIENCE.as_nanos() as i64];
    let time = (&raw const time).expose_provenance();
    // SAFETY: the caller's promise.
    let result = unsafe { system(system::FUTEX, address, (WAIT | private) as usize, expected, time, 0, 0) };
    if result == -c_long::from(ETIMEDOUT) {
        door::leave_apart();
    }
    answer_of(result)
}

/// Wakes up to so many of those that wait for one of the bits; the system wakes one before it counts. The futex itself is not looked at: its memory
/// may have been freed.
fn wake(address: usize, count: u32, bits: u32) -> c_long {
    let queue = queue(address);
    let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
    let most = (count as i32).max(1) as usize;
    let mut woken = Vec::new();
    state.waiting.retain(|&(ticket, waits_for)| {
        let wakes = waits_for & bits != 0 && woken.len() < most;
        woken.extend(wakes.then_some(ticket));
        !wakes
    });
    let count = woken.len();
    state.woken.extend(woken);
    if count > 0 {
        queue.woken.notify_all();
    }
    count as c_long
}
