//! The door between the mirrored types and the running execution: the constant handle that a mirrored object carries.
//!
//! Every function of the door (here, in `addressed.rs` and in `calls.rs`) answers `None` or `false` outside an execution;
//! the mirrored type then does what `std` does.

use super::address_map::Kind;
use super::allocator::POISON;
use super::perform::{halt, perform, perform_here};
use super::{Running, running};
use crate::trace::{Action, ObjectClass, ObjectId, Operation};
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
        let running = running()?;
        let location = Location::caller();
        let object = self.resolve(running, &init, location);
        let effect = match action {
            // Of which there are most.
            Action::Lock => perform_here(running, || Operation::new(Action::Lock, object), location, false),
            _ => perform(running, Operation::new(action, object), location, false),
        };
        if self.word.load(Ordering::Relaxed) == FREED && !running.quickly(|e| e.giving_up) {
            // While the thread waited for its turn, or for the object.
            gone(running, &init, location);
            halt(running);
        }
        Some(effect)
    }

    /// Like [`perform`](Self::perform) for `Unlock` and `WriteUnlock`: `changed` tells whether the guarded data
    /// may have been written through the guard (the guard was borrowed mutably). Polling loops that change
    /// nothing are recognised by it.
    #[track_caller]
    pub fn perform_unlock(&self, init: ObjectInit, action: Action, changed: bool) -> Option<Effect> {
        let running = running()?;
        let location = Location::caller();
        let object = self.resolve(running, &init, location);
        Some(match action {
            Action::Unlock => {
                perform_here(running, || Operation::new(Action::Unlock, object), location, changed)
            }
            _ => perform(running, Operation::new(action, object), location, changed),
        })
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
