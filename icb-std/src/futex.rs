//! `futex(2)` as crates call it that do not block through std (`parking_lot_core` and others): this file defines the C
//! function `syscall`, which in an execution serves waiting and waking itself, and otherwise is the system's.
//!
//! Modelled: `FUTEX_WAIT`, `FUTEX_WAIT_BITSET`, `FUTEX_WAKE`, `FUTEX_WAKE_BITSET`, `FUTEX_REQUEUE`, `FUTEX_CMP_REQUEUE`, on a queue for each address, whose lock and
//! condition variable are those of this crate; who waits longest is woken first. A wait until a point in time waits for a little if the clock is
//! not the model's. Not modelled: `FUTEX_WAKE_OP`, priority inheritance; these, and every other system call, go to the system.

use crate::door::{self, OwnLock};
use crate::entropy::getrandom;
use crate::epoll::eventfd;
use crate::membarrier::membarrier;
#[cfg(not(target_feature = "crt-static"))]
use crate::os_thread::gettid;
use crate::raw;
use crate::sleeping::{duration, until};
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

/// Flags of an operation: private to the process, which changes nothing here, and which clock is meant.
const FLAGS: c_int = PRIVATE | DATES;
/// The clock is one that tells dates.
const DATES: c_int = 256;
const PRIVATE: c_int = 128;
const WAIT: c_int = 0;
const WAKE: c_int = 1;
const REQUEUE: c_int = 3;
const CMP_REQUEUE: c_int = 4;
const WAIT_BITSET: c_int = 9;
const WAKE_BITSET: c_int = 10;
/// What those wait for, and wake, that name no bits.
const ANY: u32 = u32::MAX;
const EAGAIN: c_int = 11;
const EINVAL: c_int = 22;
const ETIMEDOUT: c_int = 110;

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
                let time = (d as *const [i64; 2]).as_ref().map(|&time| duration(time));
                if time == Some(None) {
                    return answer(Err(EINVAL));
                }
                let duration = match command {
                    WAIT => time.flatten(),
                    _ => time.flatten().map(|end| until(end, b as c_int & DATES != 0)),
                };
                return answer(seen_before_and_after(a, || wait(a, c as u32, bits, duration)));
            },
            WAKE | WAKE_BITSET => {
                let woken = seen_before_and_after(a, || wake(a, c as u32, bits));
                // A thread that the model does not have may wait for what both use (the lock of the standard output).
                // SAFETY: the caller's promise.
                unsafe { system(number, a, b, c, d, e, f) };
                return woken;
            }
            REQUEUE | CMP_REQUEUE => {
                let expected = (command == CMP_REQUEUE).then_some(f as u32);
                // SAFETY: the caller gives the addresses of two futexes.
                let moved =
                    seen_before_and_after(a, || unsafe { requeue(a, [c as u32, d as u32], e, expected) });
                // As above; what waits there is moved as well.
                // SAFETY: the caller's promise.
                unsafe { system(number, a, b, c, d, e, f) };
                return match moved {
                    Ok((woken, _)) if command == REQUEUE => woken,
                    Ok((woken, moved)) => woken + moved,
                    Err(error) => answer(Err(error)),
                };
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
    /// Those who wait elsewhere now: their tickets here, and there, and where that is.
    moved: Vec<(u64, u64, Arc<Queue>)>,
    next: u64,
}

impl State {
    /// One more waits. Its ticket.
    fn enter(&mut self, bits: u32) -> u64 {
        let ticket = self.next;
        self.next += 1;
        self.waiting.push_back((ticket, bits));
        ticket
    }
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
    let mut queue = queue(address);
    let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
    // It is looked at under the lock of the queue, so nobody can change it and wake between the look and the wait.
    // SAFETY: the caller's promise.
    let found = unsafe { value(address) };
    door::futex_used(address);
    if found != expected {
        return Err(EAGAIN);
    }
    let mut ticket = state.enter(bits);
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
        // It may have been moved on, and woken there, meanwhile.
        while let Some(at) = state.moved.iter().position(|(moved, ..)| *moved == ticket) {
            let (_, place, other) = state.moved.swap_remove(at);
            drop(state);
            (ticket, queue) = (place, other);
            state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
        }
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

/// What a futex holds.
///
/// # Safety
/// There is a futex at the address.
unsafe fn value(address: usize) -> u32 {
    // SAFETY: the caller's promise; a futex is an atomic of this size, and the mirrored type has std's layout.
    let variable = unsafe { &*(address as *const AtomicU32) };
    match door::is_foreign(address) {
        // SAFETY: the variable is alive.
        true => unsafe { raw::load(variable.as_ptr()) },
        false => variable.load(Ordering::SeqCst),
    }
}

/// Wakes up to so many of those that wait at an address, and moves up to so many of the others to another one, unless the futex holds something else than what is
/// `expected`. How many have been woken, and moved.
///
/// # Safety
/// There is a futex at the address.
unsafe fn requeue(
    address: usize,
    [wakes, moves]: [u32; 2],
    to: usize,
    expected: Option<u32>,
) -> Result<(c_long, c_long), c_int> {
    let (here, there) = (queue(address), queue(to));
    let mut state = here.state.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's promise.
    if expected.is_some_and(|expected| unsafe { value(address) } != expected) {
        return Err(EAGAIN);
    }
    let woken: Vec<u64> =
        (0..wakes).map_while(|_| state.waiting.pop_front()).map(|(ticket, _)| ticket).collect();
    let moved: Vec<(u64, u32)> = match Arc::ptr_eq(&here, &there) {
        true => Vec::new(),
        false => (0..moves).map_while(|_| state.waiting.pop_front()).collect(),
    };
    let counts = (woken.len() as c_long, moved.len() as c_long);
    state.woken.extend(woken);
    if !moved.is_empty() {
        let mut other = there.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (ticket, bits) in moved {
            let place = other.enter(bits);
            state.moved.push((ticket, place, there.clone()));
        }
    }
    if counts != (0, 0) {
        here.woken.notify_all();
    }
    Ok(counts)
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
