//! The examples of `Mutex`, `RwLock`, `Condvar`, `Barrier` and their guards and errors.

use super::s::sync::*;
use super::s::thread;
use super::s::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn poison(lock: impl FnOnce() + Send + 'static) {
    assert!(thread::spawn(lock).join().is_err());
}

/// A thread says that it is ready.
fn ready() -> Arc<(Mutex<bool>, Condvar)> {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = pair.clone();
    thread::spawn(move || {
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    pair
}

examples! {
    mutex_counts {
        let data = Arc::new(Mutex::new(0));
        let (sender, receiver) = mpsc::channel();
        for _ in 0..2 {
            let (data, sender) = (data.clone(), sender.clone());
            thread::spawn(move || {
                let mut data = data.lock().unwrap();
                *data += 1;
                if *data == 2 {
                    sender.send(()).unwrap();
                }
            });
        }
        receiver.recv().unwrap();
    }
    mutex_recovers_from_poison {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        poison(move || {
            let _guard = theirs.lock().unwrap();
            panic!("expected");
        });
        assert!(lock.is_poisoned());
        let mut guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        *guard += 1;
        assert_eq!(*guard, 1);
    }
    mutex_guards_are_dropped_early {
        let (data, result) = (Arc::new(Mutex::new(vec![1, 2, 3])), Arc::new(Mutex::new(0)));
        let child = {
            let (data, result) = (data.clone(), result.clone());
            thread::spawn(move || {
                let sum = {
                    let mut data = data.lock().unwrap();
                    data.push(4);
                    data.iter().sum::<u32>()
                };
                *result.lock().unwrap() += sum;
            })
        };
        let mut mine = data.lock().unwrap();
        mine.push(4);
        let sum = mine.iter().sum::<u32>();
        drop(mine);
        *result.lock().unwrap() += sum;
        child.join().unwrap();
        assert_eq!(*result.lock().unwrap(), 24);
    }
    mutex_new {
        static LOCK: Mutex<u32> = Mutex::new(0);
        assert_eq!(*LOCK.lock().unwrap(), 0);
    }
    mutex_lock {
        let mutex = Arc::new(Mutex::new(0));
        let theirs = mutex.clone();
        thread::spawn(move || *theirs.lock().unwrap() = 10).join().unwrap();
        assert_eq!(*mutex.lock().unwrap(), 10);
    }
    mutex_try_lock {
        let mutex = Arc::new(Mutex::new(0));
        let theirs = mutex.clone();
        let child = thread::spawn(move || {
            let mut lock = theirs.try_lock();
            if let Ok(value) = lock.as_mut() {
                **value = 10;
            }
            lock.is_ok()
        });
        assert!(child.join().unwrap());
        assert_eq!(*mutex.lock().unwrap(), 10);
        let held = mutex.lock().unwrap();
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
    }
    mutex_clear_poison {
        let mutex = Arc::new(Mutex::new(0));
        let theirs = mutex.clone();
        poison(move || {
            let _guard = theirs.lock().unwrap();
            panic!("expected");
        });
        let value = mutex.lock().unwrap_or_else(|mut poisoned| {
            **poisoned.get_mut() = 1;
            mutex.clear_poison();
            poisoned.into_inner()
        });
        assert_eq!((*value, mutex.is_poisoned()), (1, false));
    }
    mutex_into_inner {
        assert_eq!(Mutex::new(0).into_inner().unwrap(), 0);
    }
    mutex_get_mut {
        let mut mutex = Mutex::new(0);
        *mutex.get_mut().unwrap() = 10;
        assert_eq!(*mutex.lock().unwrap(), 10);
    }
    rwlock_many_readers_or_one_writer {
        let lock = RwLock::new(5);
        {
            let (one, two) = (lock.read().unwrap(), lock.read().unwrap());
            assert_eq!((*one, *two), (5, 5));
        }
        let mut writer = lock.write().unwrap();
        *writer += 1;
        assert_eq!(*writer, 6);
    }
    rwlock_read {
        let lock = Arc::new(RwLock::new(1));
        let theirs = lock.clone();
        let mine = lock.read().unwrap();
        let child = thread::spawn(move || theirs.read().is_ok());
        assert!(child.join().unwrap());
        assert_eq!(*mine, 1);
    }
    rwlock_try_read {
        let lock = RwLock::new(1);
        assert_eq!(*lock.try_read().unwrap(), 1);
        let _writer = lock.write().unwrap();
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    }
    rwlock_write_excludes_reading {
        let lock = RwLock::new(1);
        let mut writer = lock.write().unwrap();
        *writer = 2;
        assert!(lock.try_read().is_err());
    }
    rwlock_try_write {
        let lock = RwLock::new(1);
        let reader = lock.read().unwrap();
        assert_eq!(*reader, 1);
        assert!(lock.try_write().is_err());
    }
    rwlock_is_poisoned {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        poison(move || {
            let _writer = theirs.write().unwrap();
            panic!("expected");
        });
        assert!(lock.is_poisoned());
    }
    rwlock_clear_poison {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        poison(move || {
            let _writer = theirs.write().unwrap();
            panic!("expected");
        });
        let guard = lock.write().unwrap_or_else(|mut poisoned| {
            **poisoned.get_mut() = 1;
            lock.clear_poison();
            poisoned.into_inner()
        });
        assert_eq!((*guard, lock.is_poisoned()), (1, false));
    }
    rwlock_readers_do_not_poison {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        poison(move || {
            let _reader = theirs.read().unwrap();
            panic!("expected");
        });
        assert!(!lock.is_poisoned());
    }
    rwlock_into_inner {
        let lock = RwLock::new(String::new());
        lock.write().unwrap().push_str("modified");
        assert_eq!(lock.into_inner().unwrap(), "modified");
    }
    rwlock_get_mut {
        let mut lock = RwLock::new(0);
        *lock.get_mut().unwrap() = 10;
        assert_eq!(*lock.read().unwrap(), 10);
    }
    rwlock_downgrade {
        let lock = RwLock::new(0);
        let mut writer = lock.write().unwrap();
        *writer = 42;
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!((*reader, *lock.read().unwrap()), (42, 42));
    }
    rwlock_downgrade_lets_no_writer_between {
        let lock = Arc::new(RwLock::new(1));
        let mut writer = lock.write().unwrap();
        let theirs = lock.clone();
        let child = thread::spawn(move || *theirs.write().unwrap() = 9);
        *writer = 2;
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!(*reader, 2);
        drop(reader);
        child.join().unwrap();
        assert_eq!(*lock.read().unwrap(), 9);
    }
    condvar_wait {
        let pair = ready();
        let mut started = pair.0.lock().unwrap();
        while !*started {
            started = pair.1.wait(started).unwrap();
        }
        assert!(*started);
    }
    condvar_wait_while {
        let pair = ready();
        let started = pair.1.wait_while(pair.0.lock().unwrap(), |started| !*started).unwrap();
        assert!(*started);
    }
    #[allow(deprecated, reason = "it has an example")]
    condvar_wait_timeout_ms {
        let pair = ready();
        let mut started = pair.0.lock().unwrap();
        loop {
            let result = pair.1.wait_timeout_ms(started, 10).unwrap();
            started = result.0;
            if *started {
                break;
            }
        }
        assert!(*started);
    }
    condvar_wait_timeout {
        let pair = ready();
        let mut started = pair.0.lock().unwrap();
        loop {
            let result = pair.1.wait_timeout(started, Duration::from_millis(10)).unwrap();
            started = result.0;
            if *started {
                break;
            }
        }
        assert!(*started);
    }
    condvar_wait_timeout_while {
        let pair = (Mutex::new(true), Condvar::new());
        let guard = pair.0.lock().unwrap();
        let (pending, result) = pair.1.wait_timeout_while(guard, Duration::from_millis(3), |on| *on).unwrap();
        assert!(result.timed_out() && *pending);
        drop(pending);
        let guard = pair.0.lock().unwrap();
        let (_guard, result) = pair.1.wait_timeout_while(guard, Duration::from_millis(3), |_| false).unwrap();
        assert!(!result.timed_out());
    }
    condvar_notify_all {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let waiters = [0, 1].map(|_| {
            let pair = pair.clone();
            thread::spawn(move || drop(pair.1.wait_while(pair.0.lock().unwrap(), |open| !*open)))
        });
        *pair.0.lock().unwrap() = true;
        pair.1.notify_all();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    }
    condvar_new_and_default {
        static CONDVAR: Condvar = Condvar::new();
        CONDVAR.notify_one();
        Condvar::default().notify_all();
    }
    barrier_wait {
        let barrier = Barrier::new(3);
        let arrived = atomic::AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    arrived.fetch_add(1, atomic::Ordering::Relaxed);
                    barrier.wait();
                    assert_eq!(arrived.load(atomic::Ordering::Relaxed), 3);
                });
            }
        });
    }
    barrier_leader {
        let barrier = Arc::new(Barrier::new(2));
        let theirs = barrier.clone();
        let child = thread::spawn(move || theirs.wait().is_leader());
        let mine = barrier.wait().is_leader();
        assert_ne!(child.join().unwrap(), mine);
        assert!(Barrier::new(1).wait().is_leader());
    }
    poison_error {
        let mutex = Arc::new(Mutex::new(1));
        let theirs = mutex.clone();
        poison(move || {
            let mut data = theirs.lock().unwrap();
            *data = 2;
            panic!("expected");
        });
        let error = mutex.lock().unwrap_err();
        assert_eq!(error.to_string(), "poisoned lock: another task failed inside");
        assert_eq!(*error.into_inner(), 2);
    }
    poison_error_get_ref {
        let mut error = PoisonError::new(5);
        *error.get_mut() += 1;
        assert_eq!((*error.get_ref(), format!("{error:?}")), (6, "PoisonError { .. }".to_owned()));
    }
    try_lock_error {
        let error: TryLockError<u8> = TryLockError::from(PoisonError::new(1));
        assert!(matches!(error, TryLockError::Poisoned(_)));
        let would_block = TryLockError::<u8>::WouldBlock.to_string();
        assert_eq!(would_block, "try_lock failed because the operation would block");
    }
    a_panic_while_a_guard_is_held_poisons_once {
        let mutex = Mutex::new(1);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _guard = mutex.lock().unwrap();
            panic!("expected");
        }));
        assert!(result.is_err() && mutex.lock().is_err());
        mutex.clear_poison();
        assert!(mutex.lock().is_ok());
    }
}
