//! `std::sync`. Modelled, each in its own file: [`Mutex`], [`RwLock`], [`Condvar`], [`Barrier`], [`Once`],
//! [`OnceLock`], [`LazyLock`], [`Arc`], [`Weak`], [`atomic`] and [`mpsc`]. The error types are `std`'s own. What is
//! unstable in `std` (mapped guards, `mpmc`, `oneshot`, `ReentrantLock`) is `std`'s and not modelled.

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
