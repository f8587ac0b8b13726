//! The door between the mirrored types and the running execution: the constant handle that a mirrored object carries.
//!
//! Every function of the door (here, in `addressed.rs` and in `calls.rs`) answers `None` or `false` outside an execution;
//! the mirrored type then does what `std` does.

use super::address_map::Kind;
use super::allocator::POISON;
use super::outsider;
use super::perform::{halt, perform, perform_here};
use super::running::{Running, running};
use crate::trace::{Action, ObjectClass, ObjectId, Operation};
use std::mem::MaybeUninit;
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
    /// execution ends (see [`on_execution_end`](super::on_execution_end)).
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

/// The running thread, which is watched, is about to let a mutex go that guards this: so that a loop that takes a lock in each of its turns is
/// known to do the same again.
#[cold]
fn note_guarded(running: &Running, guarded: &[MaybeUninit<u8>]) {
    let mut seen = [0; size_of::<u64>()];
    let value = (1..=seen.len()).contains(&guarded.len()).then(|| {
        // SAFETY: there is room for them. (What the program has not initialised of its value is read as it happens to be.)
        unsafe { guarded.as_ptr().cast::<u8>().copy_to_nonoverlapping(seen.as_mut_ptr(), guarded.len()) };
        u64::from_ne_bytes(seen)
    });
    running.quickly(|e| e.threads.mine().rounds.guarded = value);
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
        if (word >> 32) as u32 == running.quickly(|e| e.epoch) {
            return ObjectId::new((word as u32 - 1) as usize);
        }
        self.enter(running, init, location)
    }

    #[cold]
    fn enter(&self, running: &Running, init: &ObjectInit, location: &'static Location<'static>) -> ObjectId {
        if self.word.load(Ordering::Relaxed) == FREED {
            return gone(running, init, location);
        }
        let object = running.with(|e| {
            let object = e.register(init.state.class(), init.type_name, init.address, Some(location.into()));
            e.object_mut(object).initialise(init.state);
            if e.tells || e.checks_frees {
                e.enter_in_map(init.address.addr(), Kind::Object, object);
            }
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
        let location = Location::caller();
        let Some(running) = running() else { return outside(&init, location) };
        let object = self.resolve(running, &init, location);
        let effect = perform(running, Operation::new(action, object), location, false);
        self.check_freed(running, &init, location);
        self.compare_with_plain(running, object);
        Some(effect)
    }

    /// [`perform`](Self::perform), compiled anew for a caller who knows the action.
    #[inline(always)]
    fn perform_here(
        &self,
        init: &ObjectInit,
        action: Action,
        changed: bool,
        location: &'static Location<'static>,
    ) -> Option<Effect> {
        let Some(running) = running() else { return outside(init, location) };
        let object = self.resolve(running, init, location);
        let effect = perform_here(running, || Operation::new(action, object), location, changed);
        self.compare_with_plain(running, object);
        Some(effect)
    }

    /// [`perform_here`](Self::perform_here), after which it is asked whether the object's memory has been freed meanwhile.
    #[inline(always)]
    fn perform_shortly(
        &self,
        init: &ObjectInit,
        action: Action,
        location: &'static Location<'static>,
    ) -> Option<Effect> {
        let effect = self.perform_here(init, action, false, location);
        if self.word.load(Ordering::Relaxed) == FREED {
            self.check_freed(running()?, init, location);
        }
        effect
    }

    /// While the thread waited for its turn, or for the object, the object's memory may have been freed.
    #[inline]
    fn check_freed(&self, running: &Running, init: &ObjectInit, location: &'static Location<'static>) {
        if self.word.load(Ordering::Relaxed) == FREED && !running.quickly(|e| e.giving_up) {
            gone(running, init, location);
            halt(running);
        }
    }

    /// The thread has just performed an operation on the object by this handle, which may lie in memory that is written over as plain memory.
    #[inline(always)]
    fn compare_with_plain(&self, running: &Running, object: ObjectId) {
        let address = std::ptr::from_ref(self).addr();
        if running.quickly(|e| e.mixed.is_on && e.objects[object.index()].home != address) {
            running.with(|e| e.look_at_handle(object, address));
        }
    }

    /// [`perform`](Self::perform) for `Lock`.
    #[track_caller]
    pub fn lock(&self, init: ObjectInit) -> Option<Effect> {
        self.perform_shortly(&init, Action::Lock, Location::caller())
    }

    /// [`perform`](Self::perform) for `NotifyOne`.
    #[track_caller]
    pub fn notify_one(&self, init: ObjectInit) -> Option<Effect> {
        self.perform_shortly(&init, Action::NotifyOne, Location::caller())
    }

    /// [`perform`](Self::perform) for `NotifyAll`.
    #[track_caller]
    pub fn notify_all(&self, init: ObjectInit) -> Option<Effect> {
        self.perform_shortly(&init, Action::NotifyAll, Location::caller())
    }

    /// [`perform`](Self::perform) for `ReadLock`.
    #[track_caller]
    pub fn read_lock(&self, init: ObjectInit) -> Option<Effect> {
        self.perform_shortly(&init, Action::ReadLock, Location::caller())
    }

    /// [`perform`](Self::perform) for `ReadUnlock`.
    #[track_caller]
    pub fn read_unlock(&self, init: ObjectInit) -> Option<Effect> {
        self.perform_shortly(&init, Action::ReadUnlock, Location::caller())
    }

    /// Where it matters whether the lock is held when somebody comes to write: takes it, or says that its caller waits (`Refused`), who has to
    /// [`write_lock`](Self::write_lock) then. `None`: it does not matter.
    #[track_caller]
    pub fn come_to_write(&self, init: ObjectInit) -> Option<Effect> {
        let running = running()?;
        if !running.quickly(|e| e.writers_say_so()) {
            return None;
        }
        running.quickly(|e| e.threads.mine().comes_to_write = true);
        self.perform(init, Action::TryWriteLock)
    }

    /// [`perform`](Self::perform) for `WriteLock`.
    #[track_caller]
    pub fn write_lock(&self, init: ObjectInit) -> Option<Effect> {
        self.perform_shortly(&init, Action::WriteLock, Location::caller())
    }

    /// Like [`perform`](Self::perform) for actions of which more is to be known than what they are. Of `Unlock`, `WriteUnlock` and `Downgrade`: whether the guarded
    /// data may have been written through the guard (the guard was borrowed mutably); polling loops that change nothing are recognised by it. Of
    /// `OnceLeave`: whether the initialiser has returned, of `OnceEnter` whether one that is poisoned is entered, of the end of a channel whether
    /// messages that are left there may be dropped by either side.
    #[track_caller]
    pub fn perform_with(&self, init: ObjectInit, action: Action, flag: bool) -> Option<Effect> {
        let location = Location::caller();
        let Some(running) = running() else { return outside(&init, location) };
        let object = self.resolve(running, &init, location);
        let effect = perform(running, Operation::new(action, object), location, flag);
        self.compare_with_plain(running, object);
        Some(effect)
    }

    /// [`perform_with`](Self::perform_with) for `Unlock`. `guarded`: the bytes of what the mutex guards, if that is a value that keeps nothing elsewhere; else
    /// nothing.
    #[track_caller]
    pub fn unlock(&self, init: ObjectInit, changed: bool, guarded: &[MaybeUninit<u8>]) -> Option<Effect> {
        let Some(running) = running() else { return outside(&init, Location::caller()) };
        if running.quickly(|e| e.threads.mine().rounds.watched != 0) {
            note_guarded(running, guarded);
        }
        self.perform_here(&init, Action::Unlock, changed, Location::caller())
    }

    /// [`perform_with`](Self::perform_with) for `WriteUnlock`.
    #[track_caller]
    pub fn write_unlock(&self, init: ObjectInit, changed: bool) -> Option<Effect> {
        self.perform_here(&init, Action::WriteUnlock, changed, Location::caller())
    }

    /// `Wait`, then `Reacquire`: `self` is the condvar, `mutex` its mutex. `timeout` is the length of a timed wait. The answer is that of
    /// `Reacquire`, `Done` or `TimedOut`.
    #[track_caller]
    pub fn wait(
        &self,
        init: ObjectInit,
        mutex: &Handle,
        mutex_init: ObjectInit,
        timeout: Option<Duration>,
    ) -> Option<Effect> {
        let location = Location::caller();
        let Some(running) = running() else { return outside(&init, location) };
        let other = mutex.resolve(running, &mutex_init, location);
        let object = self.resolve(running, &init, location);
        let timed = timeout.is_some();
        running.quickly(|e| e.set_timeout(timeout.unwrap_or_default()));
        let waits = || Operation::with_other(Action::Wait { timed }, object, other);
        perform_here(running, waits, location, false);
        // Their memory may have been freed before the thread came to wait.
        let other = mutex.resolve(running, &mutex_init, location);
        let object = self.resolve(running, &init, location);
        let takes = || Operation::with_other(Action::Reacquire { timed }, object, other);
        let effect = perform_here(running, takes, location, false);
        self.compare_with_plain(running, object);
        mutex.compare_with_plain(running, other);
        Some(effect)
    }

    /// Like [`perform`](Self::perform) for a receive that may expire after `timeout`.
    #[track_caller]
    pub fn perform_timed(&self, init: ObjectInit, action: Action, timeout: Duration) -> Option<Effect> {
        let location = Location::caller();
        let Some(running) = running() else { return outside(&init, location) };
        let object = self.resolve(running, &init, location);
        running.with(|e| e.set_timeout(timeout));
        Some(perform(running, Operation::new(action, object), location, false))
    }
}

/// See [`outsider::outside`].
fn outside(init: &ObjectInit, location: &'static Location<'static>) -> Option<Effect> {
    outsider::outside(init.type_name, init.address, location);
    None
}

/// A handle in memory that has been freed and lies in quarantine.
const FREED: u64 = u64::from_ne_bytes([POISON; 8]);

/// The object's memory has been freed: the execution ends. Its number means nothing.
#[cold]
fn gone(running: &Running, init: &ObjectInit, location: &'static Location<'static>) -> ObjectId {
    running.with(|e| {
        let object = e.register(init.state.class(), init.type_name, std::ptr::null(), Some(location.into()));
        e.used_after_free(object, init.type_name, init.address, location.into());
        object
    })
}

/// Whether the caller runs inside an execution (on a thread of the program under test).
#[must_use]
pub fn active() -> bool {
    running().is_some()
}
