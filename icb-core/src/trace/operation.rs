//! Operations as values: what a thread is about to do to which object.

use super::ObjectId;
use serde::{Deserialize, Serialize};

/// Memory ordering of an atomic access, as in `std::sync::atomic::Ordering`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Ordering {
    /// Orders nothing.
    Relaxed,
    /// Joins what the value read was released with.
    Acquire,
    /// Publishes everything before it.
    Release,
    /// Both.
    AcqRel,
    /// Both, and part of the single total order (which every explored execution follows anyway).
    SeqCst,
}

impl Ordering {
    /// Whether a read with this ordering acquires.
    #[must_use]
    pub const fn acquires(self) -> bool {
        matches!(self, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// Whether a write with this ordering releases.
    #[must_use]
    pub const fn releases(self) -> bool {
        matches!(self, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
    }
}

impl From<std::sync::atomic::Ordering> for Ordering {
    fn from(order: std::sync::atomic::Ordering) -> Self {
        use std::sync::atomic::Ordering as Std;
        match order {
            Std::Relaxed => Ordering::Relaxed,
            Std::Acquire => Ordering::Acquire,
            Std::Release => Ordering::Release,
            Std::AcqRel => Ordering::AcqRel,
            _ => Ordering::SeqCst,
        }
    }
}

/// What kind of thing an object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ObjectClass {
    /// A thread, as the object of spawn, join, park and unpark.
    Thread,
    /// An atomic variable.
    Atomic,
    /// A data cell (`UnsafeCell`).
    Cell,
    /// `Mutex`.
    Mutex,
    /// `RwLock`.
    RwLock,
    /// `Condvar`.
    Condvar,
    /// `Barrier`.
    Barrier,
    /// `Once`, and what is built on it.
    Once,
    /// An `mpsc` channel.
    Channel,
    /// The reference counts of an `Arc`.
    Count,
}

/// What threads share that is not memory, as reports call it: each is an object of the class [`ObjectClass::Atomic`] whose type has this name. A load looks
/// at it, and a read-modify-write changes it.
pub const SURROUNDINGS: [&str; 5] =
    ["the directories", "file", "the environment", "the files and the environment", "the numbers of threads"];

/// What is done. Names follow `std`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(align(4))]
pub enum Action {
    /// A thread's first step.
    Begin,
    /// `thread::spawn`; the object is the new thread.
    Spawn,
    /// `JoinHandle::join`; blocks until the object, a thread, has ended.
    Join,
    /// `thread::park`; `timed` for `park_timeout`.
    Park {
        /// Whether the wait may expire.
        timed: bool,
    },
    /// `Thread::unpark`.
    Unpark,
    /// `thread::yield_now`.
    Yield,
    /// `hint::spin_loop`.
    SpinLoop,
    /// `thread::sleep`.
    Sleep,
    /// The same where time passes only when no thread can go on, and a pause of a thread that only reads the clock.
    SleepUntil,
    /// `model::choose(n)`: a free branch.
    Choose,
    /// An atomic load.
    Load(Ordering),
    /// An atomic store.
    Store(Ordering),
    /// An atomic read-modify-write that always writes (`swap`, `fetch_*`).
    ReadModifyWrite(Ordering),
    /// `compare_exchange`; writes only if it succeeds.
    CompareExchange {
        /// `compare_exchange_weak`, which may fail spuriously.
        weak: bool,
        /// Ordering of a success.
        success: Ordering,
        /// Ordering of a failure.
        failure: Ordering,
    },
    /// `atomic::fence`.
    Fence(Ordering),
    /// `Mutex::lock`.
    Lock,
    /// `Mutex::try_lock`.
    TryLock,
    /// A `MutexGuard` is dropped.
    Unlock,
    /// `RwLock::read`.
    ReadLock,
    /// `RwLock::try_read`.
    TryReadLock,
    /// A read guard is dropped.
    ReadUnlock,
    /// `RwLock::write`.
    WriteLock,
    /// `RwLock::try_write`.
    TryWriteLock,
    /// A write guard is dropped.
    WriteUnlock,
    /// A write guard becomes a read guard (`RwLockWriteGuard::downgrade`).
    Downgrade,
    /// First half of `Condvar::wait`: release the mutex and begin to wait.
    Wait {
        /// `wait_timeout`.
        timed: bool,
    },
    /// Second half of `Condvar::wait`: notified (or expired), take the mutex again.
    Reacquire {
        /// `wait_timeout`.
        timed: bool,
    },
    /// `Condvar::notify_one`. Which waiter wakes is a free branch.
    NotifyOne,
    /// `Condvar::notify_all`.
    NotifyAll,
    /// First half of `Barrier::wait`: arrive.
    BarrierArrive,
    /// Second half of `Barrier::wait`: blocked until all have arrived.
    BarrierLeave,
    /// Enter `Once::call_once`: blocked while another thread initialises.
    OnceEnter,
    /// The initialiser has returned or panicked.
    OnceLeave,
    /// `Once::is_completed` and the fast path of `get`.
    OnceCheck,
    /// `Once::wait`: blocked until the initialisation is complete, or has panicked.
    OnceWait,
    /// `Once::wait_force` and `OnceLock::wait`: blocked until the initialisation is complete, whoever has panicked in it.
    OnceWaitForce,
    /// `Sender::send` on an unbounded channel, or `SyncSender::send`, which blocks while the channel is full.
    Send,
    /// `SyncSender::try_send`.
    TrySend,
    /// A rendezvous sender waits until its message has been taken.
    SendFinish,
    /// `Receiver::recv` of a rendezvous takes what is offered, or says that it waits.
    ReceiveBegin,
    /// `Receiver::recv`; `timed` for `recv_timeout`.
    Receive {
        /// Whether the wait may expire.
        timed: bool,
    },
    /// `Receiver::try_recv`.
    TryReceive,
    /// A sender is cloned.
    SenderClone,
    /// A sender is dropped.
    SenderDrop,
    /// The receiver is dropped.
    ReceiverDrop,
    /// `Mutex::is_poisoned`, `RwLock::is_poisoned`.
    IsPoisoned,
    /// `Mutex::clear_poison`, `RwLock::clear_poison`.
    ClearPoison,
    /// A data read (`UnsafeCell::with`).
    CellRead,
    /// A data write (`UnsafeCell::with_mut`).
    CellWrite,
    /// An access of unknown kind (`UnsafeCell::get`): a scheduling point, not checked for races.
    CellAccess,
    /// `Arc::clone`, `Arc::downgrade`, `Weak::clone`, the end of `Arc::new_cyclic`: a count goes up.
    CountUp,
    /// An `Arc` or `Weak` is dropped: a count goes down.
    CountDown,
    /// The last `Arc` is dropped: the count reaches zero.
    CountLast,
    /// A count is read (`strong_count`, `get_mut`).
    CountRead,
    /// A count is read and changed depending on its value (`upgrade`, `try_unwrap`).
    CountUpdate,
    /// A step that touches nothing. Abstract programs use it.
    Nop,
}

impl Action {
    /// Whether it is over, at the latest, when some time is.
    #[must_use]
    pub const fn is_timed(self) -> bool {
        matches!(
            self,
            Action::Sleep
                | Action::SleepUntil
                | Action::Park { timed: true }
                | Action::Wait { timed: true }
                | Action::Reacquire { timed: true }
                | Action::Receive { timed: true }
        )
    }

    /// Whether a thread can be blocked at it: the paper's potentially blocking steps.
    #[must_use]
    pub const fn is_blocking(self) -> bool {
        matches!(
            self,
            Action::Join
                | Action::Park { .. }
                | Action::Lock
                | Action::ReadLock
                | Action::WriteLock
                | Action::Reacquire { .. }
                | Action::BarrierLeave
                | Action::OnceEnter
                | Action::OnceWait
                | Action::OnceWaitForce
                | Action::Send
                | Action::SendFinish
                | Action::Receive { .. }
        )
    }
}

/// One operation: an action and the object it is done to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// What is done.
    pub action: Action,
    /// To which object; [`ObjectId::NONE`] where there is none.
    pub object: ObjectId,
    /// The second object: the mutex of a condvar operation, else [`ObjectId::NONE`].
    pub other: ObjectId,
}

impl Operation {
    /// An operation on one object.
    #[must_use]
    pub const fn new(action: Action, object: ObjectId) -> Self {
        Operation { action, object, other: ObjectId::NONE }
    }

    /// A condvar operation: the condvar and its mutex.
    #[must_use]
    pub const fn with_other(action: Action, object: ObjectId, other: ObjectId) -> Self {
        Operation { action, object, other }
    }
}

/// How an access touches its object, in the sense of the dependence order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// Commutes with other reads of the same object.
    Read,
    /// Changes the object, but commutes with other updates of it: readers that enter and leave a lock, reference counts
    /// that go up and down without being read or reaching zero.
    Update,
    /// Commutes with nothing on the same object.
    Write,
}

/// One object touched by a step, and how. A step touches at most a handful.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The object.
    pub object: ObjectId,
    /// Read or write.
    pub mode: Mode,
}
