//! A static starts every execution from its initial value.

use crate::plain;
use icb_std::cell::UnsafeCell;
use icb_std::model::FailureKind;
use icb_std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use icb_std::{thread, thread_local};
use std::cell::{Cell, RefCell};

static NUMBER: AtomicUsize = AtomicUsize::new(7);
static FLAG: AtomicBool = AtomicBool::new(true);
static POINTER: AtomicPtr<usize> = AtomicPtr::new(std::ptr::null_mut());
static TABLE: [AtomicUsize; 3] = [const { AtomicUsize::new(1) }; 3];
static LIST: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static PLAIN: Mutex<usize> = Mutex::new(3);
static TEXT: RwLock<String> = RwLock::new(String::new());
static ONCE: Once = Once::new();
static VALUE: OnceLock<Vec<usize>> = OnceLock::new();
static LAZY: LazyLock<Mutex<Vec<usize>>> = LazyLock::new(|| {
    NUMBER.fetch_add(1, SeqCst);
    Mutex::new(vec![1])
});
static LAZY_COUNT: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(4));
static ONCE_COUNT: OnceLock<AtomicUsize> = OnceLock::new();
static WAITERS: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

thread_local! {
    static PLAIN_LOCAL: Cell<usize> = const { Cell::new(5) };
    static LAZY_LOCAL: RefCell<Vec<usize>> = RefCell::new(vec![NUMBER.load(SeqCst)]);
}

fn use_all() {
    assert_eq!(NUMBER.fetch_add(1, SeqCst), 7);
    assert!(FLAG.swap(false, SeqCst));
    assert!(POINTER.load(SeqCst).is_null());
    POINTER.store(std::ptr::dangling_mut(), SeqCst);
    assert!(TABLE.iter().all(|number| number.fetch_add(1, SeqCst) == 1));
    let mut list = LIST.lock().expect("not poisoned");
    assert!(list.is_empty());
    list.push(1);
    drop(list);
    assert_eq!(std::mem::replace(&mut *PLAIN.lock().unwrap(), 4), 3);
    assert!(TEXT.read().unwrap().is_empty());
    TEXT.write().unwrap().push('x');
    assert!(!ONCE.is_completed());
    ONCE.call_once(|| ());
    assert_eq!(VALUE.get(), None);
    assert_eq!(VALUE.get_or_init(|| vec![2]), &[2]);
    assert_eq!(LAZY.lock().unwrap().as_slice(), [1]);
    LAZY.lock().unwrap().push(2);
    assert_eq!(NUMBER.load(SeqCst), 9, "the initialiser has run in this execution");
    assert_eq!(LAZY_COUNT.fetch_add(1, SeqCst), 4);
    assert_eq!(ONCE_COUNT.get_or_init(|| AtomicUsize::new(8)).fetch_add(1, SeqCst), 8);
    for _ in 0..2 {
        thread::spawn(|| {
            assert_eq!(PLAIN_LOCAL.replace(6), 5);
            assert_eq!(LAZY_LOCAL.replace(Vec::new()), [9]);
        })
        .join()
        .unwrap();
    }
    assert_eq!(PLAIN_LOCAL.replace(6), 5);
    assert_eq!(LAZY_LOCAL.replace(Vec::new()), [9]);
}

#[test]
fn statics_are_fresh_in_each_execution() {
    for _ in 0..2 {
        let report = plain().explore(|| {
            let waiter = thread::spawn(|| {
                let guard = WAITERS.0.lock().unwrap();
                drop(WAITERS.1.wait_while(guard, |ready| !*ready).unwrap());
            });
            use_all();
            *WAITERS.0.lock().unwrap() = true;
            WAITERS.1.notify_one();
            waiter.join().unwrap();
        });
        assert!(report.complete && report.execution_count() > 100, "{report:?}");
    }
}

/// Also after an execution that failed while it held, changed and poisoned them.
#[test]
fn statics_are_fresh_after_a_failure() {
    static LOCK: Mutex<usize> = Mutex::new(1);
    static OTHER: Mutex<usize> = Mutex::new(1);
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static ONCE: OnceLock<usize> = OnceLock::new();
    let report = plain().keep_going(true).explore(|| {
        assert_eq!((COUNT.fetch_add(1, SeqCst), ONCE.get()), (0, None));
        let other = thread::spawn(|| {
            let mut first = LOCK.lock().expect("not poisoned");
            assert_eq!(std::mem::replace(&mut *first, 2) % 2, 1);
            let _second = OTHER.lock().unwrap();
            *first = 3;
        });
        {
            let mut first = OTHER.lock().expect("not poisoned");
            assert_eq!(std::mem::replace(&mut *first, 2) % 2, 1);
            ONCE.get_or_init(|| 1);
            let second = LOCK.lock().unwrap();
            assert!(*second == 1 || *second == 3);
            *first = 3;
        }
        other.join().unwrap();
    });
    let failure = report.failure.as_ref().expect("the locks are taken in two orders");
    assert_eq!(failure.kind, FailureKind::Deadlock, "{failure}");
    let failures: u64 = report.bounds.iter().map(|bound| bound.failures).sum();
    assert!(failures < report.execution_count(), "{report:?}");
    let report = plain().keep_going(true).explore(|| {
        let guard = LOCK.lock().expect("not poisoned");
        assert_eq!(*guard, 1);
        assert_eq!(COUNT.fetch_add(1, SeqCst), 0);
        thread::spawn(|| thread::yield_now()).join().unwrap();
        panic!("with the lock in hand");
    });
    assert!(report.bounds.iter().all(|bound| bound.failures == bound.executions), "{report:?}");
    let failure = report.failure.expect("it panics");
    assert_eq!(failure.message, "with the lock in hand");
}

/// A cell that is all there is in a variable, and one beside plain data: what holds the lock is elsewhere.
#[test]
fn static_cells_are_fresh_too() {
    struct Shared<T>(T);
    // SAFETY: what is inside is used by who has taken `FREE` only.
    unsafe impl<T> Sync for Shared<T> {}
    static FREE: AtomicBool = AtomicBool::new(true);
    static ALONE: Shared<UnsafeCell<u32>> = Shared(UnsafeCell::new(0));
    static WITH_DATA: Shared<(Cell<u32>, UnsafeCell<Vec<u32>>)> =
        Shared((Cell::new(5), UnsafeCell::new(Vec::new())));
    fn use_them() {
        while !FREE.swap(false, SeqCst) {
            thread::yield_now();
        }
        // SAFETY: as said, `FREE` was taken.
        let length = WITH_DATA.0.1.with_mut(|list| unsafe {
            (*list).push(1);
            (*list).len()
        });
        assert_eq!(WITH_DATA.0.0.replace(WITH_DATA.0.0.get() + 1), 4 + length as u32);
        // SAFETY: as above.
        ALONE.0.with_mut(|value| unsafe { *value += 1 });
        FREE.store(true, SeqCst);
    }
    for _ in 0..2 {
        let report = plain().explore(|| {
            let other = thread::spawn(use_them);
            use_them();
            other.join().unwrap();
            // SAFETY: no other thread is left.
            assert_eq!(ALONE.0.with(|value| unsafe { *value }), 2);
        });
        assert!(report.complete && report.execution_count() > 10, "{report:?}");
    }
}

/// What is not put back is no failure of the test, but of its being a model.
#[test]
fn what_an_execution_leaves_behind_is_a_divergence() {
    static LEFT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let report = plain().explore(|| {
        let other = thread::spawn(|| NUMBER.load(SeqCst));
        other.join().unwrap();
        assert_eq!(LEFT.fetch_add(1, SeqCst), 0);
    });
    let failure = report.failure.expect("the second execution fails");
    assert_eq!(failure.kind, FailureKind::Divergence, "{failure}");
    let expected =
        "the test passed, and with the same schedule it then failed (panic: assertion `left == right` failed";
    assert!(failure.message.starts_with(expected), "{failure}");
}

/// Nor is it a pass, where only the first one fails.
#[test]
fn what_only_the_first_execution_shows_is_a_divergence() {
    static LEFT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let program = || {
        let other = thread::spawn(|| NUMBER.load(SeqCst));
        other.join().unwrap();
        assert_ne!(LEFT.fetch_add(1, SeqCst), 0, "the first one");
    };
    let failure = plain().explore(program).failure.expect("the first execution fails");
    assert_eq!(failure.kind, FailureKind::Divergence, "{failure}");
    let expected = "the test failed (panic: assertion `left != right` failed: the first one";
    assert!(failure.message.starts_with(expected), "{failure}");
    assert!(plain().explore(program).complete);
}

/// Those of a dependency are no different.
#[test]
fn statics_of_dependencies_are_fresh_too() {
    use icb_tests::statics::{CALLS, register};
    let report = plain().explore(|| {
        assert_eq!(CALLS.load(SeqCst), 0);
        let other = thread::spawn(|| register("other").1);
        assert_eq!(register("mine").1, 1);
        assert_eq!(other.join().unwrap(), 1);
        assert_eq!((register("mine"), CALLS.load(SeqCst)), ((4, 2), 3));
    });
    assert!(report.complete && report.execution_count() > 10, "{report:?}");
}

/// What a lazily initialised static holds is dropped when the execution ends, once.
#[test]
fn values_of_an_execution_are_dropped_with_it() {
    static DROPS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    static HELD: OnceLock<Arc<Counted>> = OnceLock::new();
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let report = plain().explore(|| {
        let other = thread::spawn(|| HELD.get_or_init(|| Arc::new(Counted)).clone());
        let held = HELD.get_or_init(|| Arc::new(Counted));
        assert!(Arc::ptr_eq(held, &other.join().unwrap()));
    });
    assert!(report.complete, "{:?}", report.failure);
    let drops = DROPS.load(std::sync::atomic::Ordering::Relaxed);
    // The first execution is run twice, to see that the test is deterministic, and once to see whether weak memory makes a difference.
    assert_eq!(drops, report.execution_count() + 3);
}

/// A value goes before those that it may refer to: what comes and goes first, then what was made last, whatever was used first.
#[test]
fn values_of_an_execution_are_dropped_before_what_they_refer_to() {
    static GONE: std::sync::Mutex<Vec<&str>> = std::sync::Mutex::new(Vec::new());
    struct Entry(&'static str, Option<&'static Entry>);
    impl Drop for Entry {
        fn drop(&mut self) {
            let mut gone = GONE.lock().unwrap();
            assert!(self.1.is_none_or(|other| !gone.contains(&other.0)), "{}: {gone:?}", self.0);
            gone.push(self.0);
        }
    }
    static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
    static SECOND: OnceLock<Entry> = OnceLock::new();
    static FIRST: OnceLock<Entry> = OnceLock::new();
    static OUTER: LazyLock<Entry> = LazyLock::new(|| Entry("outer", Some(&INNER)));
    static INNER: LazyLock<Entry> = LazyLock::new(|| Entry("inner", None));

    let report = plain().explore(|| {
        assert!(ENTRIES.lock().unwrap().is_empty() && SECOND.get().is_none());
        let first = FIRST.get_or_init(|| Entry("first", None));
        let second = SECOND.get_or_init(|| Entry("second", Some(first)));
        ENTRIES.lock().unwrap().push(Entry("entry", Some(second)));
        LazyLock::force(&OUTER);
        GONE.lock().unwrap().clear();
    });
    assert!(report.complete, "{:?}", report.failure);
    assert_eq!(*GONE.lock().unwrap(), ["entry", "outer", "inner", "second", "first"]);
}

/// `std` never drops the value of a static: one whose destructor aborts is left.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn a_value_whose_destructor_aborts_is_left() {
    struct Connection(bool);
    impl Drop for Connection {
        fn drop(&mut self) {
            if self.0 {
                std::process::abort();
            }
        }
    }
    static CONNECTION: Mutex<Option<Connection>> = Mutex::new(None);
    let report = plain().explore(|| {
        let mut connection = CONNECTION.lock().unwrap();
        assert!(connection.replace(Connection(true)).is_none());
    });
    assert!(report.complete, "{:?}", report.failure);
}

/// `std` never drops the value of a static; what a destructor waits for when the execution is over, nobody will do.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn a_value_whose_destructor_waits_for_ever_is_left() {
    struct Workers(Mutex<bool>, Condvar);

    impl Drop for Workers {
        fn drop(&mut self) {
            let over = self.0.lock().unwrap();
            let _over = self.1.wait_while(over, |over| !*over).unwrap();
        }
    }

    static WORKERS: OnceLock<Workers> = OnceLock::new();

    for _ in 0..2 {
        let report = plain().max_bound(1).explore(|| {
            assert!(WORKERS.get().is_none());
            let workers = WORKERS.get_or_init(|| Workers(Mutex::new(false), Condvar::new()));
            let other = thread::spawn(|| drop(workers.0.lock().unwrap()));
            drop(workers.0.lock().unwrap());
            other.join().unwrap();
        });
        assert!(report.failure.is_none() && crate::executions(&report)[1] > 1, "{report:?}");
    }
}

/// Nor does it start threads when all is over, or make the value of another static, which would be there when the next execution begins.
#[test]
fn a_value_whose_destructor_begins_something_anew_is_left() {
    struct Starter;
    struct Maker;

    impl Drop for Starter {
        fn drop(&mut self) {
            drop(thread::spawn(|| ()));
            GONE_ON.fetch_add(1, SeqCst);
        }
    }

    impl Drop for Maker {
        fn drop(&mut self) {
            MADE.get_or_init(|| 2);
            GONE_ON.fetch_add(1, SeqCst);
        }
    }

    static GONE_ON: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    static STARTER: OnceLock<Starter> = OnceLock::new();
    static MAKER: OnceLock<Maker> = OnceLock::new();
    static MADE: OnceLock<u32> = OnceLock::new();

    for _ in 0..2 {
        let report = plain().max_bound(1).explore(|| {
            STARTER.get_or_init(|| Starter);
            MAKER.get_or_init(|| Maker);
            let other = thread::spawn(|| *MADE.get_or_init(|| 1));
            assert_eq!(*MADE.get_or_init(|| 0) + other.join().unwrap(), 2 * *MADE.get().unwrap());
            assert!(*MADE.get().unwrap() < 2, "made when another execution was over");
        });
        assert!(report.failure.is_none() && crate::executions(&report)[1] > 1, "{report:?}");
    }
    assert_eq!(GONE_ON.load(SeqCst), 0);
}
