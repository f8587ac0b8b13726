//! `std::sync`. Modelled, each in its own file, with the steps that a thread takes:
//!
//! | type | a step each |
//! |---|---|
//! | [`Mutex`] | `lock`, `try_lock`, the drop of a guard, `is_poisoned`, `clear_poison` |
//! | [`RwLock`] | `read`, `write`, their `try_` forms, `downgrade`, the drop of a guard, `is_poisoned`, `clear_poison` |
//! | [`Condvar`] | giving the mutex back and beginning to wait; waking and taking it again; `notify_one`, `notify_all` |
//! | [`Barrier`] | arriving; leaving |
//! | [`Once`], [`OnceLock`], [`LazyLock`] | entering the initialiser or passing by; leaving it; looking (`get`, `is_completed`); `wait` |
//! | [`Arc`], [`Weak`] | every change and every reading of a count, in whichever method |
//! | [`atomic`] | every operation on a variable; a `fence` orders, and is no point at which threads are switched |
//! | [`mpsc`] | `send`, `recv` and their variants; the cloning and dropping of an end |
//!
//! Every waiter of a lock, and every waiter of a condition variable for a `notify_one`, may be the next one. A condition
//! variable may wake its waiter for no reason, and a timed wait may expire early, at a cost of 1 against the bound.
//! `get_mut` and `into_inner` of an exclusively borrowed object are no steps: nobody else can tell. `Debug` looks with
//! `try_lock`, `try_read` or `get`, and that is a step as in `std`. Poisoning, panics and their messages are `std`'s.
//!
//! Not modelled: fairness and spinning of the locks of any one platform; the most readers that a platform's `RwLock`
//! allows; using one `Condvar` with two mutexes, which some platforms answer with a panic; stale values of relaxed
//! atomics. What is unstable in `std` (mapped guards, `mpmc`, `oneshot`, `ReentrantLock`) is `std`'s own, unseen by the
//! scheduler. The error types are `std`'s.
//!
//! Outside an execution each type does what `std`'s does. A static of any of them starts every execution from its initial
//! value, unless it has been used outside of one. An object that is used after its memory has been freed ends the execution
//! as a failure that names both places, as far as the handle in its memory can tell: of a block larger than 4 KiB the part
//! beyond, and memory on a stack, look as they did.

pub use ::std::sync::*;

mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod flag;
mod lazy_lock;
pub mod mpsc;
mod mutex;
mod once;
mod once_lock;
mod rwlock;

pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
#[expect(deprecated, reason = "std has it, deprecated as here")]
pub use once::ONCE_INIT;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
