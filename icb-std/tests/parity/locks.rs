//! Mutex, RwLock, Condvar, Barrier.

use super::s::sync::{Arc, Barrier, Condvar, Mutex, RwLock, TryLockError};
use super::s::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub(crate) fn mutex() {
    static COUNT: Mutex<u32> = Mutex::new(0);
    let mutex = Arc::new(Mutex::new(0));
    let other = mutex.clone();
    let child = thread::spawn(move || *other.lock().unwrap() += 1);
    *mutex.lock().unwrap() += 1;
    *COUNT.lock().unwrap() += 1;
    child.join().unwrap();
    assert_eq!(*mutex.lock().unwrap(), 2);
    let mut mutex = Arc::try_unwrap(mutex).unwrap();
    *mutex.get_mut().unwrap() = 7;
    assert_eq!(mutex.into_inner().unwrap(), 7);
    assert_eq!(Mutex::from(3).into_inner().unwrap(), 3);
    assert_eq!(Mutex::<u8>::default().into_inner().unwrap(), 0);
}

pub(crate) fn mutex_poison() {
    let mutex = Mutex::new(1);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _guard = mutex.lock().unwrap();
        panic!("expected");
    }));
    assert!(result.is_err() && mutex.is_poisoned());
    let error = mutex.lock().unwrap_err();
    assert_eq!(format!("{error:?} {error}"), "PoisonError { .. } poisoned lock: another task failed inside");
    assert_eq!(*error.into_inner(), 1);
    assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
    mutex.clear_poison();
    assert_eq!(*mutex.lock().unwrap(), 1);

    // A guard made while unwinding does not poison.
    struct Locks<'a>(&'a Mutex<i32>);
    impl Drop for Locks<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _locks = Locks(&mutex);
        panic!("expected");
    }));
    assert!(result.is_err() && !mutex.is_poisoned());
    let mut mutex = mutex;
    assert_eq!(*mutex.get_mut().unwrap(), 2);
}

pub(crate) fn try_lock() {
    let mutex = Mutex::new(5);
    let guard = mutex.lock().unwrap();
    let error = mutex.try_lock().unwrap_err();
    assert!(matches!(error, TryLockError::WouldBlock));
    assert_eq!(format!("{error}"), "try_lock failed because the operation would block");
    drop(error);
    drop(guard);
    assert_eq!(*mutex.try_lock().unwrap(), 5);
}

pub(crate) fn mutex_formats() {
    let mutex = Mutex::new(5);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 5, poisoned: false, .. }");
    let guard = mutex.lock().unwrap();
    assert_eq!(format!("{mutex:?}"), "Mutex { data: \"<locked>\", poisoned: false, .. }");
    assert_eq!(format!("{guard:?} {guard}"), "5 5");
}

pub(crate) fn rwlock() {
    let lock = Arc::new(RwLock::new(1));
    {
        let one = lock.read().unwrap();
        let two = lock.read().unwrap();
        assert_eq!(*one + *two, 2);
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    }
    let other = lock.clone();
    let child = thread::spawn(move || *other.write().unwrap() += 1);
    let seen = *lock.read().unwrap();
    assert!(seen == 1 || seen == 2);
    child.join().unwrap();
    assert_eq!(*lock.try_read().unwrap(), 2);
    *lock.try_write().unwrap() += 1;
    let guard = lock.write().unwrap();
    assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    drop(guard);
    let mut lock = Arc::try_unwrap(lock).unwrap();
    *lock.get_mut().unwrap() += 1;
    assert_eq!(lock.into_inner().unwrap(), 4);
    assert_eq!(RwLock::from(3).into_inner().unwrap(), 3);
}

pub(crate) fn rwlock_poison() {
    let lock = RwLock::new(1);
    let read = catch_unwind(AssertUnwindSafe(|| {
        let _guard = lock.read().unwrap();
        panic!("expected");
    }));
    assert!(read.is_err() && !lock.is_poisoned());
    let write = catch_unwind(AssertUnwindSafe(|| {
        let _guard = lock.write().unwrap();
        panic!("expected");
    }));
    assert!(write.is_err() && lock.is_poisoned());
    assert!(lock.read().is_err() && lock.write().is_err());
    assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
    lock.clear_poison();
    assert_eq!(*lock.read().unwrap(), 1);
}

pub(crate) fn downgrade() {
    use super::s::sync::RwLockWriteGuard;
    let lock = RwLock::new(1);
    let mut guard = lock.write().unwrap();
    *guard = 2;
    let guard = RwLockWriteGuard::downgrade(guard);
    assert_eq!((*guard, *lock.read().unwrap()), (2, 2));
    assert!(lock.try_write().is_err());
    drop(guard);
    assert!(lock.try_write().is_ok());
}

pub(crate) fn rwlock_formats() {
    let lock = RwLock::new("a");
    assert_eq!(format!("{lock:?}"), "RwLock { data: \"a\", poisoned: false, .. }");
    let guard = lock.write().unwrap();
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked>, poisoned: false, .. }");
    assert_eq!(format!("{guard:?} {guard}"), "\"a\" a");
    drop(guard);
    let guard = lock.read().unwrap();
    assert_eq!(format!("{guard:?} {guard}"), "\"a\" a");
}

pub(crate) fn condvar() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = pair.clone();
    let child = thread::spawn(move || {
        let (mutex, condvar) = &*other;
        *mutex.lock().unwrap() = 1;
        condvar.notify_one();
        let guard = condvar.wait_while(mutex.lock().unwrap(), |value| *value != 2).unwrap();
        assert_eq!(*guard, 2);
    });
    let (mutex, condvar) = &*pair;
    let mut guard = mutex.lock().unwrap();
    while *guard == 0 {
        guard = condvar.wait(guard).unwrap();
    }
    *guard = 2;
    condvar.notify_all();
    drop(guard);
    child.join().unwrap();
    assert_eq!(format!("{condvar:?}"), "Condvar { .. }");
}

pub(crate) fn condvar_timeout() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::default());
    let (guard, result) = condvar.wait_timeout(mutex.lock().unwrap(), Duration::from_millis(5)).unwrap();
    let _ = result.timed_out();
    drop(guard);
    let wait = condvar.wait_timeout_while(mutex.lock().unwrap(), Duration::from_millis(5), |_| true);
    let (guard, result) = wait.unwrap();
    assert!(result.timed_out());
    assert_eq!(format!("{result:?}"), "WaitTimeoutResult(true)");
    drop(guard);
    let wait = condvar.wait_timeout_while(mutex.lock().unwrap(), Duration::from_millis(5), |_| false);
    assert!(!wait.unwrap().1.timed_out());
    #[allow(deprecated, reason = "it is mirrored too")]
    let wait = condvar.wait_timeout_ms(mutex.lock().unwrap(), 5);
    assert_eq!(*wait.unwrap().0, 0);
}

pub(crate) fn barrier() {
    let barrier = Arc::new(Barrier::new(2));
    let other = barrier.clone();
    let child = thread::spawn(move || {
        let first = other.wait().is_leader();
        (first, other.wait().is_leader())
    });
    let mine = (barrier.wait().is_leader(), barrier.wait().is_leader());
    let theirs = child.join().unwrap();
    assert!(mine.0 != theirs.0 && mine.1 != theirs.1);
    assert_eq!(format!("{barrier:?}"), "Barrier { .. }");
    let alone = Barrier::new(0).wait();
    assert_eq!(format!("{alone:?}"), "BarrierWaitResult { is_leader: true }");
}

pub(crate) fn unsized_data() {
    let mutex: Box<Mutex<dyn Fn(u32) -> u32 + Send>> = Box::new(Mutex::new(|x| x + 1));
    assert_eq!(mutex.lock().unwrap()(1), 2);
    let lock: &RwLock<[u8]> = &RwLock::new([1, 2, 3]);
    assert_eq!(lock.read().unwrap().len(), 3);
    lock.write().unwrap()[0] = 9;
    assert_eq!(&*lock.read().unwrap(), &[9, 2, 3]);
}

pub(crate) fn statics() {
    static MUTEX: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    static LOCK: RwLock<Option<Box<u8>>> = RwLock::new(None);
    static CONDVAR: Condvar = Condvar::new();
    static BARRIER: Barrier = Barrier::new(1);
    MUTEX.lock().unwrap().clear();
    MUTEX.lock().unwrap().push(1);
    assert_eq!(*MUTEX.lock().unwrap(), [1]);
    *LOCK.write().unwrap() = Some(Box::new(2));
    assert_eq!(**LOCK.read().unwrap().as_ref().unwrap(), 2);
    CONDVAR.notify_all();
    assert!(BARRIER.wait().is_leader());
}
