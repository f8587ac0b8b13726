//! `Mutex` and `RwLock`.

use super::nudge;
use super::s::sync::atomic::{AtomicU32, Ordering::SeqCst};
use super::s::sync::{Arc, Mutex, RwLock, RwLockWriteGuard, TryLockError};
use super::s::thread;
use super::s::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

fn told<T, G>(result: Result<G, TryLockError<G>>, tell: impl Fn(&G) -> T) -> String
where
    T: std::fmt::Display,
{
    match result {
        Ok(guard) => format!("{}", tell(&guard)),
        Err(TryLockError::WouldBlock) => "busy".into(),
        Err(TryLockError::Poisoned(e)) => format!("poisoned{}", tell(e.get_ref())),
    }
}

pub(crate) fn mutex_poison() -> String {
    let m = Arc::new(Mutex::new(0));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        nudge();
        let mut guard = m2.lock().unwrap_or_else(|e| e.into_inner());
        *guard += 1;
        nudge();
        resume_unwind(Box::new(()));
    });
    nudge();
    let a = told(m.try_lock(), |g| **g);
    nudge();
    let b = m.is_poisoned();
    nudge();
    m.clear_poison();
    nudge();
    let c = told(m.try_lock(), |g| **g);
    nudge();
    let d = m.lock().is_err();
    let e = t.join().is_err();
    let f = m.is_poisoned();
    let g = Arc::try_unwrap(m).unwrap().into_inner();
    format!("{a} {b} {c} {d} {e} {f} {}", g.is_err())
}

pub(crate) fn rwlock_poison() -> String {
    let m = Arc::new(RwLock::new(0));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        nudge();
        let guard = m2.read();
        nudge();
        drop(guard);
        let mut guard = m2.write().unwrap_or_else(|e| e.into_inner());
        *guard += 1;
        nudge();
        resume_unwind(Box::new(()));
    });
    nudge();
    let a = told(m.try_read(), |g| **g);
    nudge();
    let c = told(m.try_write(), |g| **g);
    nudge();
    let d = m.read().is_err();
    let e = t.join().is_err();
    format!("{a} {c} {d} {e} {}", m.is_poisoned())
}

/// A guard that was taken while its thread unwound poisons nothing.
pub(crate) fn a_lock_while_unwinding() -> String {
    struct Locks(Arc<Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            nudge();
            *self.0.lock().unwrap_or_else(|e| e.into_inner()) += 1;
        }
    }
    let m = Arc::new(Mutex::new(0));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        let _locks = Locks(m2);
        nudge();
        resume_unwind(Box::new(()));
    });
    nudge();
    let a = told(m.try_lock(), |g| **g);
    let b = t.join().is_err();
    format!("{a} {b} {} {}", m.is_poisoned(), *m.lock().unwrap())
}

pub(crate) fn a_forgotten_guard() -> String {
    let m = Arc::new(Mutex::new(0));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        nudge();
        std::mem::forget(m2.lock());
    });
    nudge();
    let a = told(m.try_lock(), |g| **g);
    t.join().unwrap();
    format!("{a} {}", told(m.try_lock(), |g| **g))
}

/// Reads twice, and a writer comes.
pub(crate) fn nested_reads() -> String {
    let m = Arc::new(RwLock::new(0));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        nudge();
        *m2.write().unwrap() += 1;
    });
    nudge();
    let one = m.read().unwrap();
    nudge();
    let two = m.read().unwrap();
    let told = format!("{} {}", *one, *two);
    drop(one);
    drop(two);
    t.join().unwrap();
    told
}

pub(crate) fn nested_try_reads() -> String {
    let m = Arc::new(RwLock::new(0));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        nudge();
        *m2.write().unwrap() += 1;
    });
    nudge();
    let one = m.read().unwrap();
    nudge();
    let a = told(m.try_read(), |g| **g);
    nudge();
    let b = told(m.try_read(), |g| **g);
    nudge();
    let c = told(m.try_write(), |g| **g);
    let told = format!("{} {a} {b} {c}", *one);
    drop(one);
    t.join().unwrap();
    told
}

/// Two readers, of whom one waits for the other.
pub(crate) fn a_reader_waits_for_a_reader() -> String {
    let m = Arc::new(RwLock::new(0));
    let (m2, m3) = (m.clone(), m.clone());
    let writer = thread::spawn(move || {
        nudge();
        *m2.write().unwrap() += 1;
    });
    let one = m.read().unwrap();
    let reader = thread::spawn(move || {
        nudge();
        *m3.read().unwrap()
    });
    nudge();
    let two = reader.join().unwrap();
    let told = format!("{} {two}", *one);
    drop(one);
    writer.join().unwrap();
    told
}

/// A lock is left to a reader and a writer who wait for it.
pub(crate) fn after_a_writer() -> String {
    let m = Arc::new(RwLock::new(0));
    let (m2, m3) = (m.clone(), m.clone());
    let guard = m.write().unwrap();
    let writer = thread::spawn(move || {
        nudge();
        *m2.write().unwrap() += 1;
    });
    let reader = thread::spawn(move || {
        nudge();
        *m3.read().unwrap()
    });
    nudge();
    nudge();
    nudge();
    drop(guard);
    let a = told(m.try_read(), |g| **g);
    let b = told(m.try_write(), |g| **g);
    writer.join().unwrap();
    format!("{a} {b} {}", reader.join().unwrap())
}

pub(crate) fn downgrade() -> String {
    let m = Arc::new(RwLock::new(0));
    let (m2, m3) = (m.clone(), m.clone());
    let writer = thread::spawn(move || {
        nudge();
        *m2.write().unwrap() += 10;
    });
    let reader = thread::spawn(move || {
        nudge();
        *m3.read().unwrap()
    });
    nudge();
    let mut guard = m.write().unwrap();
    *guard += 1;
    nudge();
    let guard = RwLockWriteGuard::downgrade(guard);
    nudge();
    let a = *guard;
    let b = told(m.try_read(), |g| **g);
    drop(guard);
    writer.join().unwrap();
    format!("{a} {b} {}", reader.join().unwrap())
}

/// Who has waited to write lets others read, and waits for them.
pub(crate) fn downgrade_after_waiting() -> String {
    let m = Arc::new(RwLock::new(0));
    let m2 = m.clone();
    let guard = m.read().unwrap();
    let t = thread::spawn(move || {
        nudge();
        let guard = RwLockWriteGuard::downgrade(m2.write().unwrap());
        let m3 = m2.clone();
        let a = thread::spawn(move || told(m3.try_read(), |g| **g)).join().unwrap();
        drop(guard);
        a
    });
    nudge();
    nudge();
    drop(guard);
    t.join().unwrap()
}

pub(crate) fn downgrade_after_waiting_and_read() -> String {
    let m = Arc::new(RwLock::new(0));
    let m2 = m.clone();
    let guard = m.write().unwrap();
    let t = thread::spawn(move || {
        nudge();
        let guard = RwLockWriteGuard::downgrade(m2.write().unwrap());
        let m3 = m2.clone();
        let a = thread::spawn(move || *m3.read().unwrap()).join().unwrap();
        drop(guard);
        a
    });
    nudge();
    nudge();
    drop(guard);
    format!("{}", t.join().unwrap())
}

/// A lock in another's guard: both orders.
pub(crate) fn two_locks() -> String {
    let m = Arc::new((Mutex::new(0), Mutex::new(0)));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        nudge();
        let _one = m2.0.lock();
        nudge();
        let _two = m2.1.lock();
    });
    nudge();
    let one = m.1.lock();
    nudge();
    let a = told(m.0.try_lock(), |g| **g);
    nudge();
    let two = m.0.lock();
    drop(one);
    drop(two);
    t.join().unwrap();
    a
}

/// What is read of a mutex that panics inside a lock.
pub(crate) fn poison_seen_by_a_waiter() -> String {
    let m = Arc::new((Mutex::new(0), AtomicU32::new(0)));
    let m2 = m.clone();
    let t = thread::spawn(move || {
        nudge();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _guard = m2.0.lock().unwrap_or_else(|e| e.into_inner());
            m2.1.store(1, SeqCst);
            nudge();
            resume_unwind(Box::new(()));
        }));
        m2.1.store(2, SeqCst);
        nudge();
        m2.0.clear_poison();
        caught.is_err()
    });
    nudge();
    let a = m.1.load(SeqCst);
    nudge();
    let b = m.0.lock().is_err();
    nudge();
    let c = m.1.load(SeqCst);
    format!("{a} {b} {c} {}", t.join().unwrap())
}
