//! Which types are Send, Sync, UnwindSafe, RefUnwindSafe, Unpin: a table that `std` fills in too.

use super::s::cell::UnsafeCell;
use super::s::sync::atomic::{AtomicPtr, AtomicUsize};
use super::s::sync::mpsc::{Receiver, Sender, SyncSender};
use super::s::sync::*;
use super::s::thread::{Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId};
use super::s::time::{Instant, SystemTime};
use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Whether a type implements an auto trait, as a value: an inherent constant wins over a trait's.
macro_rules! implements {
    ($t:ty: $bound:path) => {{
        #[allow(dead_code, reason = "one of the two constants is not used")]
        trait Not {
            const VALUE: bool = false;
        }
        impl<T: ?Sized> Not for T {}
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "one of the two constants is not used")]
        impl<T: ?Sized + $bound> Probe<T> {
            const VALUE: bool = true;
        }
        <Probe<$t>>::VALUE
    }};
}

pub(crate) fn auto_traits() {
    let std = crate::std_world::traits::table();
    let mine = table();
    let differing: Vec<_> = mine.lines().zip(std.lines()).filter(|(mine, theirs)| mine != theirs).collect();
    assert!(differing.is_empty(), "Send, Sync, UnwindSafe, RefUnwindSafe, Unpin: {differing:#?}");
}

pub(crate) fn table() -> String {
    let mut table = String::new();
    macro_rules! row {
        ($($t:ty),* $(,)?) => { $(
            let answers = [
                implements!($t: Send),
                implements!($t: Sync),
                implements!($t: UnwindSafe),
                implements!($t: RefUnwindSafe),
                implements!($t: Unpin),
            ];
            let answers: String = answers.iter().map(|yes| if *yes { '+' } else { '-' }).collect();
            table.push_str(&format!("{} {answers}\n", stringify!($t)));
        )* };
    }
    row! {
        Mutex<u8>, Mutex<Rc<u8>>, Mutex<Cell<u8>>, MutexGuard<'static, u8>, MutexGuard<'static, Cell<u8>>,
        RwLock<u8>, RwLock<Rc<u8>>, RwLock<Cell<u8>>, RwLockReadGuard<'static, u8>,
        RwLockReadGuard<'static, Cell<u8>>, RwLockWriteGuard<'static, u8>, RwLockWriteGuard<'static, Cell<u8>>,
        Condvar, WaitTimeoutResult, Barrier, BarrierWaitResult, Once, OnceState,
        OnceLock<u8>, OnceLock<Rc<u8>>, OnceLock<Cell<u8>>, OnceLock<&'static mut u8>,
        LazyLock<u8>, LazyLock<Rc<u8>>, LazyLock<Cell<u8>>, LazyLock<u8, Box<dyn FnOnce() -> u8>>,
        LazyLock<u8, Box<dyn FnOnce() -> u8 + Send>>,
        Arc<u8>, Arc<Rc<u8>>, Arc<Cell<u8>>, Arc<Mutex<Cell<u8>>>, Weak<u8>, Weak<Rc<u8>>, Weak<Cell<u8>>,
        AtomicUsize, AtomicPtr<Rc<u8>>, UnsafeCell<u8>,
        Sender<u8>, Sender<Rc<u8>>, Sender<Cell<u8>>, SyncSender<u8>, SyncSender<Rc<u8>>, Receiver<u8>,
        Receiver<Rc<u8>>,
        JoinHandle<u8>, JoinHandle<Rc<u8>>, ScopedJoinHandle<'static, u8>, ScopedJoinHandle<'static, Rc<u8>>,
        Scope<'static, 'static>, Thread, ThreadId, Builder, LocalKey<u8>, LocalKey<Rc<u8>>, Instant, SystemTime,
    }
    table
}
