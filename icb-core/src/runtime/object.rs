//! The door between the mirrored types and the running execution: the constant handle that a mirrored object
//! carries, and one function for each way of performing an operation.
//!
//! Every function here answers `None` (or `false`) outside an execution; the mirrored type then does what `std`
//! does. Unsafe code that leads to the running execution stands here and in `coroutine.rs` only.

use super::execution::{self, Execution};
use crate::trace::{Action, ObjectClass, ObjectId, Operation, ThreadId};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What an operation led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It is done (a lock is taken, a message sent or ready to be taken, a wait was notified).
    Done,
    /// A `try_` operation found the object locked, full or empty.
    Refused,
    /// A timed wait expired.
    TimedOut,
    /// A channel's other end is gone.
    Disconnected,
    /// `Barrier::wait`: this thread is the leader.
    Leader,
    /// `Once::call_once`: this thread is to run the initialiser.
    Run,
    /// `Once`: an initialiser has panicked before.
    Poisoned,
    /// The index chosen by `choose`.
    Value(u64),
}

/// How an object begins its life in an execution.
#[derive(Clone, Copy, Debug)]
pub struct ObjectInit {
    /// Its first state.
    pub state: InitialState,
    /// Its type, for the report, for example `Mutex<u32>`.
    pub type_name: &'static str,
    /// Its address.
    pub address: *const (),
    /// Called at its first use in an execution, with `address`: the mirrored type may ask to be restored when the
    /// execution ends (see [`on_execution_end`]).
    pub on_first_use: Option<unsafe fn(*const ())>,
}

/// The first state of an object, by kind.
#[derive(Clone, Copy, Debug)]
pub enum InitialState {
    /// Unlocked.
    Mutex,
    /// Unlocked.
    RwLock,
    /// Nobody waits.
    Condvar,
    /// `Barrier::new(count)`.
    Barrier {
        /// Threads it waits for.
        count: usize,
    },
    /// `Once` and what is built on it.
    Once {
        /// Initialised before the execution began.
        complete: bool,
        /// Its initialiser panicked before the execution began.
        poisoned: bool,
    },
    /// A channel.
    Channel {
        /// `None`: unbounded. `Some(0)`: rendezvous.
        capacity: Option<usize>,
        /// Messages in it.
        length: usize,
        /// Live senders.
        senders: usize,
        /// Whether the receiver lives.
        receiver: bool,
    },
    /// The counts of an `Arc`.
    Count,
}

impl InitialState {
    pub(crate) const fn class(self) -> ObjectClass {
        match self {
            InitialState::Mutex => ObjectClass::Mutex,
            InitialState::RwLock => ObjectClass::RwLock,
            InitialState::Condvar => ObjectClass::Condvar,
            InitialState::Barrier { .. } => ObjectClass::Barrier,
            InitialState::Once { .. } => ObjectClass::Once,
            InitialState::Channel { .. } => ObjectClass::Channel,
            InitialState::Count => ObjectClass::Count,
        }
    }
}

/// The constant handle in a mirrored object. Zero means "not yet seen"; a handle of an earlier execution counts
/// as not yet seen too, so a static object starts every execution afresh.
#[derive(Debug)]
pub struct Handle {
    /// Epoch of the execution in the high half, object number + 1 in the low half.
    word: AtomicU64,
}

impl Default for Handle {
    fn default() -> Self {
        Self::new()
    }
}

impl Handle {
    /// A handle that no execution has seen.
    #[must_use]
    pub const fn new() -> Self {
        Handle { word: AtomicU64::new(0) }
    }

    /// Performs an operation on the object that carries this handle: announces it, lets the scheduler decide,
    /// applies it. `None` outside an execution.
    #[track_caller]
    pub fn perform(&self, init: ObjectInit, action: Action) -> Option<Effect> {
        todo!()
    }

    /// Like [`perform`](Self::perform) for `Unlock` and `WriteUnlock`: `changed` tells whether the guarded data
    /// may have been written through the guard (the guard was borrowed mutably). Polling loops that change
    /// nothing are recognised by it.
    #[track_caller]
    pub fn perform_unlock(&self, init: ObjectInit, action: Action, changed: bool) -> Option<Effect> {
        todo!()
    }

    /// A condvar operation (`Wait`, `Reacquire`): `self` is the condvar, `mutex` its mutex. `timeout` is the
    /// length of a timed wait. The caller performs `Wait`, then `Reacquire`; the answer of `Reacquire` is `Done`
    /// or `TimedOut`.
    #[track_caller]
    pub fn perform_wait(
        &self,
        init: ObjectInit,
        mutex: &Handle,
        mutex_init: ObjectInit,
        action: Action,
        timeout: Option<Duration>,
    ) -> Option<Effect> {
        todo!()
    }

    /// Like [`perform`](Self::perform) for a receive that may expire after `timeout`.
    #[track_caller]
    pub fn perform_timed(&self, init: ObjectInit, action: Action, timeout: Duration) -> Option<Effect> {
        todo!()
    }
}

/// Whether the caller runs inside an execution (on a thread of the program under test).
#[must_use]
pub fn active() -> bool {
    todo!()
}

/// An atomic variable, by address.
#[derive(Clone, Copy, Debug)]
pub struct AtomicRef {
    /// Its address.
    pub address: *const (),
    /// Its size in bytes: 1, 2, 4 or 8 (16 where std has it).
    pub size: usize,
    /// Its type, for the report.
    pub type_name: &'static str,
}

/// An atomic operation between decision and effect. The caller reads and writes the variable, then calls
/// [`finish`](Self::finish). No other thread runs in between.
#[derive(Debug)]
#[must_use = "an atomic step must be finished"]
pub struct AtomicStep {
    _private: (),
}

impl AtomicStep {
    /// Whether this `compare_exchange_weak` is to fail although the values match.
    #[must_use]
    pub fn fails_spuriously(&self) -> bool {
        todo!()
    }

    /// Completes the step: the bits read, if the operation reads, and the bits written, if it wrote.
    #[inline]
    pub fn finish(self, read: Option<u64>, written: Option<u64>) {
        todo!()
    }
}

/// Announces an atomic operation and lets the scheduler decide. `None` outside an execution.
#[track_caller]
#[inline]
pub fn atomic(target: AtomicRef, action: Action) -> Option<AtomicStep> {
    todo!()
}

/// `atomic::fence`. `false` outside an execution.
#[track_caller]
pub fn fence(order: crate::trace::Ordering) -> bool {
    todo!()
}

/// An access to a data cell: checks for races; a scheduling point first where the granularity or `on_race(Promote)`
/// says so. Call it right before the access. `false` outside an execution.
#[track_caller]
#[inline]
pub fn cell(address: *const (), size: usize, type_name: &'static str, action: Action) -> bool {
    todo!()
}

/// A bracketed access (`with`, `with_mut`) ends: checks again if the thread has taken steps inside. Never a
/// scheduling point.
#[track_caller]
pub fn cell_end(address: *const (), action: Action) {
    todo!()
}

/// How a thread's closure ended, as told by the mirrored `thread` module.
pub type ThreadMain = Box<dyn FnOnce() -> ThreadEnd>;

/// How a thread ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadEnd {
    /// It returned.
    Returned,
    /// It panicked; the result is kept for whoever joins.
    Panicked,
}

/// `thread::spawn`: the new thread will run `main`. The caller must make sure that what `main` borrows outlives
/// the thread (`thread::scope` does). `stack_size` in bytes. `None` outside an execution.
#[track_caller]
pub fn spawn(name: Option<String>, stack_size: Option<usize>, main: ThreadMain) -> Option<ThreadId> {
    todo!()
}

/// Blocks until the thread has ended. Its panic, if it had one, counts as handled.
#[track_caller]
pub fn join(thread: ThreadId) {
    todo!()
}

/// Whether the thread has ended (`JoinHandle::is_finished`), a read of the thread.
#[track_caller]
#[must_use]
pub fn is_finished(thread: ThreadId) -> bool {
    todo!()
}

/// Somebody has taken note of the thread's panic (a scope passes it on): it is not reported on its own.
pub fn panic_handled(thread: ThreadId) {
    todo!()
}

/// The calling thread. `None` outside an execution.
#[must_use]
pub fn current() -> Option<ThreadId> {
    todo!()
}

/// Whether the calling thread is unwinding. `None` outside an execution.
#[must_use]
pub fn panicking() -> Option<bool> {
    todo!()
}

/// `thread::park` and `park_timeout`. `false` outside an execution.
#[track_caller]
pub fn park(timeout: Option<Duration>) -> bool {
    todo!()
}

/// `Thread::unpark`.
#[track_caller]
pub fn unpark(thread: ThreadId) {
    todo!()
}

/// `yield_now`, `spin_loop` and `sleep` (with its duration). `false` outside an execution.
#[track_caller]
pub fn pause(action: Action, duration: Duration) -> bool {
    todo!()
}

/// `model::choose(n)`: every value below `n` is tried, at no cost. Outside an execution: 0.
#[track_caller]
#[must_use]
pub fn choose(n: usize) -> usize {
    todo!()
}

/// The virtual clock: time since the execution began. `None` outside an execution.
#[must_use]
pub fn now() -> Option<Duration> {
    todo!()
}

/// A number that is different in every execution of this process and never zero, to recognise state left over
/// from another one. Zero outside an execution.
#[must_use]
pub fn epoch() -> u32 {
    todo!()
}

/// Whether the address lies in the program's image: the object is a static.
#[must_use]
pub fn is_static(address: *const ()) -> bool {
    todo!()
}

/// Runs `action` when the running execution has ended and none of its threads runs any more; the place to put a
/// static object back to its initial value. Does nothing outside an execution.
pub fn on_execution_end(action: Box<dyn FnOnce()>) {
    todo!()
}

/// The calling thread's value for a thread-local key (its address), if it has been set. `None` outside an
/// execution or when unset.
#[must_use]
pub fn local(key: *const ()) -> Option<*mut ()> {
    todo!()
}

/// Sets the calling thread's value for a key. `drop` is called with the value at the end of the thread (values
/// are dropped in the order in which they were set, each unset first) or, for a thread that never ends, never.
/// `false` outside an execution.
pub fn set_local(key: *const (), value: *mut (), drop: unsafe fn(*mut ())) -> bool {
    todo!()
}

/// Whether the calling thread's values are being dropped or gone (`LocalKey::try_with` fails for this key).
#[must_use]
pub fn local_destroyed(key: *const ()) -> bool {
    todo!()
}
