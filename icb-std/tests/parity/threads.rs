//! Threads, scopes, parking.

use super::s::sync::atomic::{AtomicU32, Ordering};
use super::s::sync::{Arc, Mutex};
use super::s::thread::{self, Builder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub(crate) fn spawn_and_join() {
    let child = thread::spawn(|| vec![1, 2]);
    assert_eq!(format!("{child:?}"), "JoinHandle { .. }");
    assert_eq!(child.join().unwrap(), [1, 2]);
    let shared = Arc::new(AtomicU32::new(0));
    let children: Vec<_> = (0..3)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || shared.fetch_add(1, Ordering::Relaxed))
        })
        .collect();
    let mut seen: Vec<u32> = children.into_iter().map(|child| child.join().unwrap()).collect();
    seen.sort();
    assert_eq!((seen, shared.load(Ordering::Relaxed)), (vec![0, 1, 2], 3));
}

pub(crate) fn panics() {
    let number = 1;
    let payload = thread::spawn(move || panic!("expected {number}")).join().unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().unwrap(), "expected 1");
    let mutex = Arc::new(Mutex::new(0));
    let other = mutex.clone();
    let child = thread::spawn(move || {
        assert!(!thread::panicking());
        let _guard = other.lock();
        struct Sees;
        impl Drop for Sees {
            fn drop(&mut self) {
                assert!(thread::panicking());
            }
        }
        let _sees = Sees;
        panic!("expected");
    });
    assert!(child.join().is_err());
    assert!(mutex.lock().is_err());
}

pub(crate) fn builder() {
    let child = Builder::new().name("worker".to_owned()).stack_size(256 << 10);
    let text = "Builder { name: Some(\"worker\"), stack_size: Some(262144), no_hooks: false }";
    assert_eq!(format!("{child:?}"), text);
    let child = child.spawn(|| thread::current().name().map(str::to_owned)).unwrap();
    assert_eq!(child.thread().name(), Some("worker"));
    assert_eq!(child.join().unwrap().as_deref(), Some("worker"));
    let child = thread::spawn(|| thread::current().name().is_none());
    assert!(child.join().unwrap());
    let number = 5;
    // SAFETY: the thread is joined while `number` lives.
    let child = unsafe { Builder::new().spawn_unchecked(|| &number as *const i32 as usize) }.unwrap();
    assert_eq!(child.join().unwrap(), &raw const number as usize);
    // More than a process has addresses.
    #[cfg(target_os = "linux")]
    {
        let kept = std::sync::Arc::new(());
        let theirs = kept.clone();
        let refused = Builder::new().stack_size(isize::MAX as usize).spawn(move || drop(theirs));
        assert_eq!(refused.map(|_| ()).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        assert_eq!(std::sync::Arc::strong_count(&kept), 1);
    }
    let bad = catch_unwind(|| Builder::new().name("a\0b".to_owned()).spawn(|| ()));
    assert!(bad.is_err());
}

pub(crate) fn scopes() {
    let mut values = vec![1, 2, 3];
    let mut sum = 0;
    let answer = thread::scope(|scope| {
        let handle = scope.spawn(|| values.len());
        scope.spawn(|| sum += 5);
        assert_eq!(format!("{handle:?}"), "ScopedJoinHandle { .. }");
        handle.join().unwrap()
    });
    values.push(4);
    assert_eq!((answer, sum, values.len()), (3, 5, 4));
}

pub(crate) fn scope_panics() {
    let result = catch_unwind(|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("expected"));
        });
    });
    assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"a scoped thread panicked"));
    let joined = catch_unwind(|| {
        thread::scope(|scope| scope.spawn(|| panic!("expected")).join().is_err())
    });
    assert!(joined.unwrap());
    let done = AtomicU32::new(0);
    let own = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            scope.spawn(|| done.fetch_add(1, Ordering::SeqCst));
            panic!("of the scope itself");
        })
    }));
    assert_eq!(own.unwrap_err().downcast_ref::<&str>(), Some(&"of the scope itself"));
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

pub(crate) fn parking() {
    let me = thread::current();
    let child = thread::spawn(move || me.unpark());
    thread::park();
    child.join().unwrap();
    thread::park_timeout(Duration::from_millis(2));
    thread::current().unpark();
    thread::park();
    let parked = thread::spawn(thread::park);
    parked.thread().unpark();
    parked.join().unwrap();
}

pub(crate) fn finished() {
    let child = thread::spawn(|| ());
    let _ = child.is_finished();
    while !child.is_finished() {
        thread::yield_now();
    }
    child.join().unwrap();
}

pub(crate) fn ids() {
    let me = thread::current().id();
    assert_eq!(me, thread::current().id());
    let child = thread::spawn(|| thread::current().id());
    let id = child.thread().id();
    assert_ne!(id, me);
    assert_eq!(child.join().unwrap(), id);
    assert!(format!("{id:?}").starts_with("ThreadId("));
}

pub(crate) fn nested_scopes() {
    let count = AtomicU32::new(0);
    thread::scope(|outer| {
        outer.spawn(|| {
            outer.spawn(|| count.fetch_add(1, Ordering::Relaxed));
            thread::scope(|inner| {
                inner.spawn(|| count.fetch_add(1, Ordering::Relaxed));
            });
        });
        Builder::new().name("b".to_owned()).spawn_scoped(outer, || count.fetch_add(1, Ordering::Relaxed)).unwrap();
    });
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

pub(crate) fn current_thread() {
    assert!(thread::available_parallelism().unwrap().get() >= 1);
    let text = format!("{:?}", thread::current());
    assert!(text.starts_with("Thread { id: ThreadId(") && text.ends_with(", .. }"), "{text}");
    let clone = thread::current().clone();
    assert_eq!(clone.id(), thread::current().id());
}
