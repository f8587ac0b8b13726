//! The door between the mirrored types and the running execution: the constant handle that a mirrored object
//! carries, and one function for each way of performing an operation.
//!
//! Every function here answers `None` (or `false`) outside an execution; the mirrored type then does what `std`
//! does. The unsafe code that leads to the running execution stands here and in `mod.rs`; its one invariant:
//! an execution is touched only by the OS thread that runs it, and no reference to it lives across a switch.

use super::address_map::{GONE, Kind, key};
use super::execution::{Execution, Next};
use super::threads::{Life, Local, MAX_SPURIOUS_FAILURES, Readiness};
use super::{GiveUp, Running, running};
use crate::program::Granularity;
use crate::trace::{Action, Failure, FailureKind, ObjectClass, ObjectId, Operation, ThreadId};
use std::panic::Location;
use std::sync::Arc;
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

    /// The object's number in the running execution; enters it if this is its first use there.
    #[inline]
    fn resolve(
        &self,
        running: &Running,
        init: &ObjectInit,
        location: &'static Location<'static>,
    ) -> ObjectId {
        let word = self.word.load(Ordering::Relaxed);
        if (word >> 32) as u32 == running.with(|e| e.epoch) {
            return ObjectId::new((word as u32 - 1) as usize);
        }
        self.enter(running, init, location)
    }

    #[cold]
    fn enter(&self, running: &Running, init: &ObjectInit, location: &'static Location<'static>) -> ObjectId {
        let object = running.with(|e| {
            let object = e.register(init.state.class(), init.type_name, init.address, Some(location));
            e.object_mut(object).initialise(init.state);
            let word = (u64::from(e.epoch) << 32) | (object.index() as u64 + 1);
            self.word.store(word, Ordering::Relaxed);
            object
        });
        if let Some(first_use) = init.on_first_use {
            // SAFETY: the mirrored type passes a function that takes the address it passes with it.
            unsafe { first_use(init.address) };
        }
        object
    }

    /// Performs an operation on the object that carries this handle: announces it, lets the scheduler decide,
    /// applies it. `None` outside an execution.
    #[track_caller]
    pub fn perform(&self, init: ObjectInit, action: Action) -> Option<Effect> {
        let running = running()?;
        let location = Location::caller();
        let object = self.resolve(running, &init, location);
        Some(perform(running, Operation::new(action, object), location, false))
    }

    /// Like [`perform`](Self::perform) for `Unlock` and `WriteUnlock`: `changed` tells whether the guarded data
    /// may have been written through the guard (the guard was borrowed mutably). Polling loops that change
    /// nothing are recognised by it.
    #[track_caller]
    pub fn perform_unlock(&self, init: ObjectInit, action: Action, changed: bool) -> Option<Effect> {
        let running = running()?;
        let location = Location::caller();
        let object = self.resolve(running, &init, location);
        Some(perform(running, Operation::new(action, object), location, changed))
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
        let running = running()?;
        let location = Location::caller();
        let mutex = mutex.resolve(running, &mutex_init, location);
        let condvar = self.resolve(running, &init, location);
        running.with(|e| e.threads[e.current].timeout = timeout.unwrap_or_default());
        Some(perform(running, Operation::with_other(action, condvar, mutex), location, false))
    }

    /// Like [`perform`](Self::perform) for a receive that may expire after `timeout`.
    #[track_caller]
    pub fn perform_timed(&self, init: ObjectInit, action: Action, timeout: Duration) -> Option<Effect> {
        let running = running()?;
        let location = Location::caller();
        let object = self.resolve(running, &init, location);
        running.with(|e| e.threads[e.current].timeout = timeout);
        Some(perform(running, Operation::new(action, object), location, false))
    }
}

/// Whether the caller runs inside an execution (on a thread of the program under test).
#[must_use]
pub fn active() -> bool {
    running().is_some()
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
#[must_use = "an atomic step must be finished"]
pub struct AtomicStep {
    operation: Operation,
    running: &'static Running,
}

impl std::fmt::Debug for AtomicStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AtomicStep").field(&self.operation).finish()
    }
}

impl AtomicStep {
    /// Whether this `compare_exchange_weak` is to fail although the values match.
    #[must_use]
    pub fn fails_spuriously(&self) -> bool {
        self.running.with(|e| {
            let weak = matches!(self.operation.action, Action::CompareExchange { weak: true, .. });
            let me = e.current;
            if !weak
                || !e.settings.spurious
                || e.giving_up
                || e.threads[me].spurious_failures >= MAX_SPURIOUS_FAILURES
            {
                return false;
            }
            let fails = e.branch(self.operation, 2, true) == 1;
            e.threads[me].spurious_failures += u32::from(fails);
            fails
        })
    }

    /// Completes the step: the bits read, if the operation reads, and the bits written, if it wrote.
    pub fn finish(self, read: Option<u64>, written: Option<u64>) {
        self.running.with(|e| {
            if !e.giving_up {
                e.finish_atomic(self.operation, read, written);
            }
        });
    }
}

/// Announces an atomic operation and lets the scheduler decide. `None` outside an execution.
#[track_caller]
pub fn atomic(target: AtomicRef, action: Action) -> Option<AtomicStep> {
    let running = running()?;
    let location = Location::caller();
    let operation = running.with(|e| Operation::new(action, e.atomic_object(target, location)));
    enter(running, operation, location);
    Some(AtomicStep { operation, running })
}

/// `atomic::fence`. `false` outside an execution.
#[track_caller]
pub fn fence(order: crate::trace::Ordering) -> bool {
    let Some(running) = running() else { return false };
    let location = Location::caller();
    running.with(|e| {
        if !e.giving_up {
            let operation = Operation::new(Action::Fence(order), ObjectId::NONE);
            e.threads[e.current].location = Some(location);
            e.take_undecided();
            e.finish_fence(operation, order);
        }
    });
    true
}

/// An access to a data cell: checks for races; a scheduling point first where the granularity or `on_race(Promote)`
/// says so. Call it right before the access. `false` outside an execution.
#[track_caller]
pub fn cell(address: *const (), size: usize, type_name: &'static str, action: Action) -> bool {
    let Some(running) = running() else { return false };
    let location = Location::caller();
    if size == 0 || running.with(|e| e.giving_up) {
        return true;
    }
    let operation =
        running.with(|e| Operation::new(action, e.object_at(Kind::Cell, address, type_name, location)));
    if running.with(|e| e.end.is_some()) {
        halt(running);
        return true;
    }
    let point = running.with(|e| e.is_point(location));
    if point {
        enter(running, operation, location);
    }
    let stopped = running.with(|e| {
        e.threads[e.current].location = Some(location);
        // The access is a step like any other; a race is found in the state after it.
        if point {
            e.finish_cell(operation);
        } else {
            e.pass_cell(operation);
        }
        action != Action::CellAccess && e.check_cell(operation.object, action == Action::CellWrite)
    });
    if stopped {
        halt(running);
    }
    true
}

/// A bracketed access (`with`, `with_mut`) ends: checks again if the thread has taken steps inside. Never a
/// scheduling point.
pub fn cell_end(address: *const (), action: Action) {
    let Some(running) = running() else { return };
    let stopped = running.with(|e| {
        if e.giving_up {
            return false;
        }
        match e.known_cell(address) {
            Some(cell) => e.check_cell(cell, action == Action::CellWrite),
            None => false,
        }
    });
    if stopped {
        halt(running);
    }
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
pub fn spawn(name: Option<Arc<str>>, stack_size: Option<usize>, main: ThreadMain) -> Option<ThreadId> {
    let running = running()?;
    let location = Location::caller();
    if running.with(|e| e.giving_up) {
        // The execution is being given up: the thread never begins.
        return Some(running.with(|e| ThreadId::new(e.current)));
    }
    // The thread does not exist yet: its object is known only when the spawn takes effect.
    enter(running, Operation::new(Action::Spawn, ObjectId::NONE), location);
    if running.with(|e| e.thread_count) > crate::recording::MAX_THREADS {
        panic!("one execution has more than {} threads", crate::recording::MAX_THREADS);
    }
    let child = running.with(|e| {
        let child = e.create_thread(name, stack_size, Some(location), super::ThreadJob::Spawned(main));
        e.finish_spawn(child);
        child
    });
    Some(child)
}

/// Blocks until the thread has ended. Its panic, if it had one, counts as handled.
#[track_caller]
pub fn join(thread: ThreadId) {
    let Some(running) = running() else { return };
    let object = running.with(|e| e.threads[thread.index()].object);
    perform(running, Operation::new(Action::Join, object), Location::caller(), false);
}

/// Whether the thread has ended (`JoinHandle::is_finished`), a read of the thread.
#[track_caller]
#[must_use]
pub fn is_finished(thread: ThreadId) -> bool {
    let Some(running) = running() else { return true };
    let location = Location::caller();
    let operation = running.with(|e| Operation::new(Action::Join, e.threads[thread.index()].object));
    if running.with(|e| e.giving_up) {
        return true;
    }
    // Not a join: it never blocks, so it is announced as a plain read of the thread.
    enter(running, Operation::new(Action::CountRead, operation.object), location);
    running.with(|e| e.finish_is_finished(Operation::new(Action::CountRead, operation.object)))
}

/// Somebody has taken note of the thread's panic (a scope passes it on): it is not reported on its own.
pub fn panic_handled(thread: ThreadId) {
    if let Some(running) = running() {
        running.with(|e| e.threads[thread.index()].panic_handled = true);
    }
}

/// The calling thread. `None` outside an execution.
#[must_use]
pub fn current() -> Option<ThreadId> {
    running().map(|running| running.with(|e| ThreadId::new(e.current)))
}

/// The name that the calling thread was given when it was spawned.
#[must_use]
pub fn thread_name() -> Option<Arc<str>> {
    running()?.with(|e| e.threads[e.current].name.clone())
}

/// Whether the calling thread is unwinding. `None` outside an execution.
#[must_use]
pub fn panicking() -> Option<bool> {
    running().map(|running| running.with(super::execution_is_unwinding))
}

/// `thread::park` and `park_timeout`. `false` outside an execution.
#[track_caller]
pub fn park(timeout: Option<Duration>) -> bool {
    let Some(running) = running() else { return false };
    let operation = running.with(|e| {
        let me = e.current;
        e.threads[me].timeout = timeout.unwrap_or_default();
        Operation::new(Action::Park { timed: timeout.is_some() }, e.token(me))
    });
    perform(running, operation, Location::caller(), false);
    true
}

/// `Thread::unpark`.
#[track_caller]
pub fn unpark(thread: ThreadId) {
    let Some(running) = running() else { return };
    let object = running.with(|e| e.token(thread.index()));
    perform(running, Operation::new(Action::Unpark, object), Location::caller(), false);
}

/// `yield_now`, `spin_loop` and `sleep` (with its duration). `false` outside an execution.
#[track_caller]
pub fn pause(action: Action, duration: Duration) -> bool {
    let Some(running) = running() else { return false };
    running.with(|e| {
        e.threads[e.current].timeout = duration;
        e.recognise_awaiting();
    });
    perform(running, Operation::new(action, ObjectId::NONE), Location::caller(), false);
    true
}

/// Tag of the first choice in the fingerprint, above those of all steps.
const CHOSEN: u64 = 1 << 32;

/// `model::choose(n)`: every value below `n` is tried, at no cost. Outside an execution: 0.
#[track_caller]
#[must_use]
pub fn choose(n: usize) -> usize {
    let Some(running) = running() else { return 0 };
    running.with(|e| {
        if n < 2 || e.giving_up {
            return 0;
        }
        let index = e.branch(Operation::new(Action::Choose, ObjectId::NONE), n as u32, false);
        // Nothing else tells apart what the thread does with one number from what it does with another.
        let me = e.current;
        e.hash.step_many(me, &[], CHOSEN + u64::from(index));
        index as usize
    })
}

/// The virtual clock: time since the execution began. `None` outside an execution.
#[must_use]
pub fn now() -> Option<Duration> {
    running().map(|running| running.with(|e| e.now))
}

/// A number that is different in every execution of this process and never zero, to recognise state left over
/// from another one. Zero outside an execution.
#[must_use]
pub fn epoch() -> u32 {
    running().map_or(0, |running| running.with(|e| e.epoch))
}

/// Whether the address lies in the program's image: the object is a static.
#[must_use]
pub fn is_static(address: *const ()) -> bool {
    super::image::contains(address)
}

/// Runs `action` when the running execution has ended and none of its threads runs any more; the place to put a
/// static object back to its initial value. Does nothing outside an execution.
pub fn on_execution_end(action: Box<dyn FnOnce()>) {
    if let Some(running) = running() {
        running.with(|e| e.at_end.push(action));
    }
}

/// The calling thread's value for a thread-local key (its address), if it has been set. `None` outside an
/// execution or when unset.
#[must_use]
pub fn local(key: *const ()) -> Option<*mut ()> {
    running()?.with(|e| {
        let locals = &e.threads[e.current].locals;
        locals.iter().find(|local| local.key == key && !local.gone).map(|local| local.value)
    })
}

/// Sets the calling thread's value for a key. `drop` is called with the value at the end of the thread (values
/// are dropped in the order in which they were set, each unset first) or, for a thread that never ends, never.
/// `false` outside an execution.
pub fn set_local(key: *const (), value: *mut (), drop: unsafe fn(*mut ())) -> bool {
    let Some(running) = running() else { return false };
    running.with(|e| {
        let current = e.current;
        e.threads[current].locals.push(Local { key, value, drop, gone: false });
    });
    true
}

/// Whether the calling thread's values are being dropped or gone (`LocalKey::try_with` fails for this key).
#[must_use]
pub fn local_destroyed(key: *const ()) -> bool {
    let Some(running) = running() else { return false };
    running.with(|e| e.threads[e.current].locals.iter().any(|local| local.key == key && local.gone))
}

/// An operation on an `Arc`'s counts, keyed by its allocation. `strong`: what the strong count is right now, for
/// operations that change it by one; `None` for all others. `false` outside an execution.
#[track_caller]
pub fn count(address: *const (), type_name: &'static str, action: Action, strong: Option<usize>) -> bool {
    let Some(running) = running() else { return false };
    let location = Location::caller();
    let object = running.with(|e| {
        let object = e.object_at(Kind::Count, address, type_name, location);
        let me = e.current;
        e.threads[me].strong = strong.is_some();
        if let Some(strong) = strong {
            e.learn_strong_count(object, strong);
        }
        object
    });
    perform(running, Operation::new(action, object), location, strong.is_some());
    true
}

/// The caller has just performed the `CountDown` that left no owner: it has seen everything that the others did.
pub fn count_last(address: *const ()) {
    if let Some(running) = running() {
        running.with(|e| {
            if let Some(object) = e.map.get(key(address.addr(), Kind::Count)).filter(|&object| object != GONE)
            {
                e.count_last(ObjectId::new(object as usize));
            }
        });
    }
}

impl Execution {
    /// The object of this kind at an address; enters it if this is its first use.
    #[inline]
    fn object_at(
        &mut self,
        kind: Kind,
        address: *const (),
        type_name: &'static str,
        location: &'static Location<'static>,
    ) -> ObjectId {
        self.note_freed();
        match self.map.get(key(address.addr(), kind)) {
            Some(object) if object != GONE => ObjectId::new(object as usize),
            known => self.enter_at(kind, address, type_name, location, known.is_some()),
        }
    }

    #[cold]
    fn enter_at(
        &mut self,
        kind: Kind,
        address: *const (),
        type_name: &'static str,
        location: &'static Location<'static>,
        gone: bool,
    ) -> ObjectId {
        let class = match kind {
            Kind::Atomic => ObjectClass::Atomic,
            Kind::Cell => ObjectClass::Cell,
            Kind::Count => ObjectClass::Count,
        };
        let object = self.register(class, type_name, address, Some(location));
        if gone {
            self.threads[self.current].location = Some(location);
            let message = format!("{type_name} {object} is used after its memory has been freed");
            self.fail(Failure::new(FailureKind::UseAfterFree, message));
        } else {
            self.map.insert(key(address.addr(), kind), object.index() as u32);
        }
        object
    }

    #[inline]
    fn atomic_object(&mut self, target: AtomicRef, location: &'static Location<'static>) -> ObjectId {
        let before = self.object_count;
        let object = self.object_at(Kind::Atomic, target.address, target.type_name, location);
        if self.object_count != before && is_static(target.address) {
            self.keep_static_atomic(target);
        }
        object
    }

    /// Remembers the initial value of a static atomic; it is written back when the execution has ended.
    fn keep_static_atomic(&mut self, target: AtomicRef) {
        let mut bytes = [0; 16];
        let size = target.size.min(bytes.len());
        let address = target.address.cast_mut().cast::<u8>();
        // SAFETY: the mirrored atomic at this address is `size` bytes large, and no other OS thread uses it while an
        // exploration runs.
        unsafe { std::ptr::copy_nonoverlapping(address, bytes.as_mut_ptr(), size) };
        self.static_atomics.push((address, size, bytes));
    }

    fn known_cell(&self, address: *const ()) -> Option<ObjectId> {
        let object = self.map.get(key(address.addr(), Kind::Cell)).filter(|&object| object != GONE)?;
        Some(ObjectId::new(object as usize))
    }

    /// Whether a data access at this place of the program is a scheduling point.
    #[inline]
    fn is_point(&self, location: &'static Location<'static>) -> bool {
        self.settings.granularity == Granularity::EveryAccess
            || (self.settings.promote && self.promoted.contains(&std::ptr::from_ref(location).addr()))
    }

    /// A data access that is no scheduling point: part of the step before.
    fn pass_cell(&mut self, operation: Operation) {
        if operation.action == Action::CellWrite {
            let me = self.current;
            self.threads[me].note_change();
        }
        if self.observer.is_some() {
            self.accesses.clear();
            self.observe_step(operation, None, None, None);
        }
    }
}

/// Whether a loop around the operation, without a hint, could be waiting for something.
#[inline]
const fn may_be_spun_on(action: Action) -> bool {
    matches!(
        action,
        Action::Load(_)
            | Action::CompareExchange { .. }
            | Action::ReadModifyWrite(_)
            | Action::Lock
            | Action::TryLock
            | Action::ReadLock
            | Action::TryReadLock
            | Action::WriteLock
            | Action::TryWriteLock
            | Action::TryReceive
            | Action::OnceCheck
            | Action::CountRead
    )
}

/// Announces an operation and returns when its thread has been chosen to take it.
#[inline]
fn enter(running: &Running, operation: Operation, location: &'static Location<'static>) {
    let (next, suspension) = running.with(|e| {
        if e.giving_up {
            return (Next::Stay, None);
        }
        let me = e.current;
        if e.end.is_some() {
            // The operation's object is gone, or something was freed twice.
            return (Next::Suspend, Some(e.threads[me].suspension));
        }
        e.announce(operation, location);
        if may_be_spun_on(operation.action) {
            e.recognise_spinning();
        }
        if e.threads[me].unwinding
            && e.threads[me].readiness == Readiness::Ready
            && super::execution_is_unwinding(e)
        {
            e.take_undecided();
            return (Next::Stay, None);
        }
        if let Action::Receive { .. } = operation.action {
            e.receiver_waits(operation.object);
        }
        match e.decide() {
            Next::Stay => (Next::Stay, None),
            Next::Suspend => (Next::Suspend, Some(e.threads[me].suspension)),
        }
    });
    if next == Next::Suspend {
        if let Some(suspension) = suspension {
            suspension.suspend();
        }
        resumed(running);
    }
}

/// The thread runs again: it has been chosen, or the execution is being given up.
#[inline]
fn resumed(running: &Running) {
    if running.with(|e| e.giving_up) {
        give_up(running);
    }
}

/// The execution has ended at this step: the thread does not go on.
#[cold]
fn halt(running: &Running) {
    let suspension = running.with(|e| e.threads[e.current].suspension);
    suspension.suspend();
    resumed(running);
}

/// Unwinds the calling thread, whose execution is given up.
#[cold]
fn give_up(running: &Running) {
    if std::thread::panicking() {
        // It is unwinding already and cannot do so twice: its stack is given up as it is.
        loop {
            running.with(|e| e.threads[e.current].suspension).suspend();
        }
    }
    std::panic::resume_unwind(Box::new(GiveUp));
}

/// Performs an operation whose effect is the runtime's alone.
#[inline]
fn perform(
    running: &Running,
    operation: Operation,
    location: &'static Location<'static>,
    changed: bool,
) -> Effect {
    if running.with(|e| e.giving_up) {
        return while_giving_up(running, operation.action);
    }
    enter(running, operation, location);
    running.with(|e| e.apply(operation, changed))
}

/// Operations that a thread performs while it is being unwound because the execution is given up: answered at once,
/// in the way that lets it come to its end. Nothing is taken for initialised that may not be.
#[cold]
fn while_giving_up(running: &Running, action: Action) -> Effect {
    /// More operations than any destructor needs; a loop among them would never end.
    const MAX_STEPS: u32 = 100_000;
    let steps = running.with(|e| {
        e.give_up_steps += 1;
        e.give_up_steps
    });
    if steps > MAX_STEPS {
        loop {
            running.with(|e| e.threads[e.current].suspension).suspend();
        }
    }
    match action {
        Action::OnceCheck | Action::TryLock | Action::TryReadLock | Action::TryWriteLock => Effect::Refused,
        Action::OnceEnter => Effect::Run,
        Action::Send | Action::TrySend | Action::SendFinish | Action::Receive { .. } | Action::TryReceive => {
            Effect::Disconnected
        }
        _ => Effect::Done,
    }
}

/// Whether the thread has begun and not ended.
pub(super) fn is_live(life: Life) -> bool {
    life == Life::Live
}
