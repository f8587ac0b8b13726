//! What only a model can show: statics that start afresh in every execution, bugs that are found with the fewest
//! preemptions, and executions that are given up half-way without harm.

#![cfg(icb)]

use icb_std::cell::UnsafeCell;
use icb_std::model::{Builder, FailureKind, Reduction, Report};
use icb_std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use icb_std::sync::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use icb_std::time::Instant;
use icb_std::{thread, thread_local};
use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicU64 as Real;
use std::time::Duration;

fn explore(bound: u32, f: impl Fn() + Send + Sync + 'static) -> Report {
    Builder::new().max_bound(bound).explore(f)
}

fn passes(bound: u32, f: impl Fn() + Send + Sync + 'static) -> u64 {
    let report = explore(bound, f);
    if let Some(failure) = report.failure {
        panic!("{:?}: {}\n{}", failure.kind, failure.message, failure.schedule);
    }
    report.execution_count()
}

/// Passes at every bound below `bound`, and fails there.
fn fails(bound: u32, kind: FailureKind, f: impl Fn() + Send + Sync + Clone + 'static) {
    let failure = explore(3, f.clone()).failure.expect("no failure was found");
    assert_eq!((failure.kind, failure.bound), (kind, bound), "{}", failure.message);
    // Threads that cannot end are unwound or given up in every execution that goes on.
    let mut all = Builder::new().max_bound(1).max_executions(2_000).keep_going(true);
    all = all.spurious(false);
    all.explore(f);
}

/// Counts its live values, in the real world.
struct Counted(&'static Real);

impl Counted {
    fn new(live: &'static Real) -> Counted {
        live.fetch_add(1, Ordering::SeqCst);
        Counted(live)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn statics_start_every_execution_afresh() {
    static LIVE: Real = Real::new(0);
    static MUTEX: Mutex<Vec<Counted>> = Mutex::new(Vec::new());
    static LOCK: RwLock<(u32, Option<Counted>)> = RwLock::new((7, None));
    static CELL: OnceLock<Counted> = OnceLock::new();
    static LAZY: LazyLock<Mutex<Vec<Counted>>> = LazyLock::new(|| Mutex::new(vec![Counted::new(&LIVE)]));
    static ONCE: Once = Once::new();
    static ATOMIC: AtomicU32 = AtomicU32::new(3);
    thread_local!(static LOCAL: RefCell<Vec<Counted>> = const { RefCell::new(Vec::new()) });

    fn touch() {
        MUTEX.lock().unwrap().push(Counted::new(&LIVE));
        LOCK.write().unwrap().0 += 1;
        LOCK.write().unwrap().1 = Some(Counted::new(&LIVE));
        CELL.get_or_init(|| Counted::new(&LIVE));
        LAZY.lock().unwrap().push(Counted::new(&LIVE));
        ONCE.call_once(|| ());
        ATOMIC.fetch_add(1, Ordering::SeqCst);
        LOCAL.with_borrow_mut(|list| list.push(Counted::new(&LIVE)));
    }

    let executions = passes(1, || {
        assert_eq!(MUTEX.lock().unwrap().len(), 0);
        assert!(matches!(*LOCK.read().unwrap(), (7, None)));
        assert!(CELL.get().is_none() && LazyLock::get(&LAZY).is_none() && !ONCE.is_completed());
        assert_eq!(ATOMIC.load(Ordering::SeqCst), 3);
        LOCAL.with_borrow(|list| assert_eq!(list.len(), 0));
        let child = thread::spawn(touch);
        touch();
        child.join().unwrap();
        assert_eq!((MUTEX.lock().unwrap().len(), LAZY.lock().unwrap().len()), (2, 3));
        assert_eq!((LOCK.read().unwrap().0, ATOMIC.load(Ordering::SeqCst)), (9, 5));
    });
    assert!(executions > 10, "{executions}");
    assert_eq!(LIVE.load(Ordering::SeqCst), 0, "what executions left in statics has been dropped");
    assert_eq!((MUTEX.lock().unwrap().len(), LOCK.read().unwrap().0), (0, 7));
    assert!(CELL.get().is_none() && !ONCE.is_completed());
}

#[test]
fn a_poisoned_static_is_whole_again() {
    static MUTEX: Mutex<u32> = Mutex::new(0);
    static ONCE: Once = Once::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| panic!("expected"));
    let executions = passes(1, || {
        assert!(!MUTEX.is_poisoned());
        let child = thread::spawn(|| {
            let _guard = MUTEX.lock().unwrap();
            panic!("expected");
        });
        assert!(child.join().is_err() && MUTEX.lock().is_err());
        assert!(thread::spawn(|| ONCE.call_once(|| panic!("expected"))).join().is_err());
        assert!(thread::spawn(|| *LAZY).join().is_err());
    });
    assert!(executions >= 1);
}

/// A lazily initialised static as other crates write it: the value is made at run time and lives in static memory.
struct Homemade<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, under `once`.
unsafe impl<T: Send + Sync> Sync for Homemade<T> {}

impl<T> Homemade<T> {
    fn get(&self, make: impl FnOnce() -> T) -> &T {
        // SAFETY: written under `once`, read after it.
        self.once.call_once(|| unsafe { *self.value.get() = Some(make()) });
        // SAFETY: as above.
        unsafe { (*self.value.get()).as_ref().unwrap() }
    }
}

#[test]
fn values_made_at_run_time_are_left_to_their_makers() {
    static LIVE: Real = Real::new(0);
    static HOME: Homemade<Mutex<Vec<Counted>>> = Homemade { once: Once::new(), value: UnsafeCell::new(None) };
    let executions = passes(1, || {
        let list = || HOME.get(|| Mutex::new(vec![Counted::new(&LIVE)]));
        let child = thread::spawn(move || list().lock().unwrap().push(Counted::new(&LIVE)));
        list().lock().unwrap().push(Counted::new(&LIVE));
        child.join().unwrap();
        assert_eq!(list().lock().unwrap().len(), 3);
    });
    assert!(executions > 2);
    // The last execution's value is still there; all others were dropped when it was made anew.
    assert_eq!(LIVE.load(Ordering::SeqCst), 3);
}

#[test]
fn a_static_used_outside_keeps_its_value() {
    static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    static CELL: OnceLock<String> = OnceLock::new();
    LIST.lock().unwrap().push(1);
    let outside = CELL.get_or_init(|| "outside".to_owned());
    passes(0, || {
        assert_eq!(*LIST.lock().unwrap(), [1]);
        assert_eq!(CELL.get().unwrap(), "outside");
    });
    assert_eq!((outside.as_str(), LIST.lock().unwrap().len()), ("outside", 1));
}

#[test]
fn finds_a_lost_update_with_one_preemption() {
    fails(1, FailureKind::Panic, || {
        let count = Arc::new(AtomicU32::new(0));
        let add = |count: &AtomicU32| count.store(count.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
        let other = count.clone();
        let child = thread::spawn(move || add(&other));
        add(&count);
        child.join().unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn finds_a_data_race_without_preemption() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: it is not; that is what is to be found.
    unsafe impl Sync for Shared {}
    fails(0, FailureKind::DataRace, || {
        let shared = Arc::new(Shared(UnsafeCell::new(0)));
        let other = shared.clone();
        // SAFETY: the model runs one thread at a time.
        let child = thread::spawn(move || other.0.with_mut(|value| unsafe { *value += 1 }));
        // SAFETY: as above.
        shared.0.with(|value| unsafe { *value });
        child.join().unwrap();
    });
}

#[test]
fn dropping_the_last_owner_orders_its_data() {
    struct Owned(UnsafeCell<u32>);
    // SAFETY: each owner writes before it goes, and in turn: the counts order them.
    unsafe impl Sync for Owned {}
    // SAFETY: as above.
    unsafe impl Send for Owned {}
    impl Drop for Owned {
        fn drop(&mut self) {
            // SAFETY: exclusive.
            self.0.with_mut(|value| unsafe { *value += 1 });
        }
    }
    passes(2, || {
        let one = Arc::new(Owned(UnsafeCell::new(0)));
        let two = one.clone();
        let child = thread::spawn(move || {
            // SAFETY: read only.
            two.0.with(|value| unsafe { *value });
            drop(two);
        });
        // SAFETY: read only.
        one.0.with(|value| unsafe { *value });
        drop(one);
        child.join().unwrap();
    });
}

/// That a lock is poisoned is shared state like any other: whoever asks too early or too late finds out.
#[test]
fn asking_for_poison_is_a_step() {
    static ONE: Mutex<u32> = Mutex::new(0);
    static TWO: RwLock<u32> = RwLock::new(0);
    for reduction in [Reduction::PartialOrder, Reduction::None] {
        let model = Builder::new().max_bound(2).reduction(reduction);
        let failure = model.clone().explore(move || {
            let child = thread::spawn(|| {
                let _guard = ONE.lock();
                panic!("expected");
            });
            let poisoned = ONE.is_poisoned();
            let _ = child.join();
            assert!(!poisoned, "too late");
        });
        let found = failure.failure.expect("the child may run first");
        assert_eq!(found.kind, FailureKind::Panic, "{reduction:?}");
        let failure = model.explore(|| {
            let child = thread::spawn(|| {
                let _guard = TWO.write();
                panic!("expected");
            });
            TWO.clear_poison();
            let _ = child.join();
            assert!(TWO.is_poisoned(), "too late");
        });
        let found = failure.failure.expect("the child may run first");
        assert_eq!(found.kind, FailureKind::Panic, "{reduction:?}");
    }
}

#[test]
fn finds_a_lock_order_deadlock() {
    fails(1, FailureKind::Deadlock, || {
        let locks = Arc::new((Mutex::new(vec![1]), Mutex::new(vec![2])));
        let other = locks.clone();
        let child = thread::spawn(move || {
            let one = other.0.lock().unwrap();
            let two = other.1.lock().unwrap();
            drop((one, two));
        });
        let two = locks.1.lock().unwrap();
        let one = locks.0.lock().unwrap();
        drop((one, two));
        child.join().unwrap();
    });
}

#[test]
fn a_deadlock_among_scoped_threads_leaves_what_they_borrowed() {
    fails(0, FailureKind::Deadlock, || {
        let (gate, condvar) = (Mutex::new(vec![1u32]), Condvar::new());
        let text = String::from("borrowed");
        struct Reads<'a>(&'a str, &'a Mutex<Vec<u32>>);
        impl Drop for Reads<'_> {
            fn drop(&mut self) {
                assert_eq!(self.0, "borrowed");
                self.1.lock().unwrap().push(self.0.len() as u32);
            }
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                let _reads = Reads(&text, &gate);
                let mut guard = gate.lock().unwrap();
                while guard.len() == 1 {
                    guard = condvar.wait(guard).unwrap();
                }
            });
        });
    });
}

#[test]
fn channels_and_joins_in_destructors_survive_a_given_up_execution() {
    struct Pool {
        jobs: Option<mpsc::Sender<u32>>,
        worker: Option<thread::JoinHandle<u32>>,
    }
    impl Drop for Pool {
        fn drop(&mut self) {
            drop(self.jobs.take());
            self.worker.take().unwrap().join().unwrap();
        }
    }
    fails(0, FailureKind::Deadlock, || {
        let (jobs, receiver) = mpsc::channel();
        let worker = thread::spawn(move || receiver.iter().sum());
        let pool = Pool { jobs: Some(jobs), worker: Some(worker) };
        pool.jobs.as_ref().unwrap().send(1).unwrap();
        let never = Mutex::new(());
        let _first = never.lock().unwrap();
        drop(never.lock());
    });
}

/// A failed execution is given up as it is, its thread-local values included: the next one has none of them.
#[test]
fn thread_local_values_of_a_failed_execution_are_gone() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    thread_local! {
        static USES: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        static PANICS: Panics = const { Panics };
    }
    // The first execution, in which the determinism of the test is looked at, fails; the search meets the failure again.
    let report = explore(1, || {
        assert_eq!(USES.replace(1), 0, "a value of another execution");
        thread::spawn(|| PANICS.with(|_| ())).join().unwrap();
    });
    let failure = report.failure.expect("a destructor panics");
    assert_eq!(failure.message, "a thread-local destructor panicked: in a destructor");
    assert!(failure.location.is_some_and(|place| place.file.ends_with("in_a_model.rs")));
    let backtrace = &failure.trace.failure_backtrace;
    assert!(backtrace.iter().any(|frame| frame.function.contains("Panics")), "{backtrace:?}");
}

#[test]
fn a_panic_that_nobody_joins_is_a_failure() {
    fails(0, FailureKind::Panic, || {
        thread::spawn(|| panic!("nobody listens"));
    });
}

#[test]
fn a_scope_passes_a_panic_on() {
    passes(1, || {
        let result = std::panic::catch_unwind(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("expected"));
            });
        });
        assert!(result.is_err());
    });
}

/// As in `std`, where the panic goes to whoever has the handle: also if the scope has come to its end before that thread.
#[test]
fn a_scope_leaves_a_panic_to_the_thread_that_joins() {
    for (joins, reduction) in [true, false]
        .into_iter()
        .flat_map(|joins| [Reduction::None, Reduction::PartialOrder].map(|reduction| (joins, reduction)))
    {
        let report = Builder::new().max_bound(2).reduction(reduction).explore(move || {
            let result = icb_std::panic::catch_unwind(|| {
                thread::scope(|scope| {
                    let panics = scope.spawn(|| panic!("expected"));
                    scope.spawn(move || {
                        if joins {
                            assert!(panics.join().is_err())
                        }
                    });
                });
            });
            assert_eq!(result.is_ok(), joins);
        });
        assert!(report.failure.is_none(), "{report:?}");
    }
}

/// Whoever wants to wait for ever asks for the longest time there is, which no clock can show.
#[test]
fn the_longest_time_is_never_over() {
    type Wait = fn(Duration);
    let waits: [(&str, Wait); 5] = [
        ("park", |time| thread::park_timeout(time)),
        ("sleep", |time| thread::sleep(time)),
        ("wait", |time| {
            let (mutex, condvar) = (Mutex::new(true), Condvar::new());
            let mut guard = mutex.lock().unwrap();
            while *guard {
                guard = condvar.wait_timeout(guard, time).unwrap().0;
            }
        }),
        ("wait_while", |time| {
            let (mutex, condvar) = (Mutex::new(()), Condvar::new());
            let _unit = condvar.wait_timeout_while(mutex.lock().unwrap(), time, |_| true).unwrap();
        }),
        ("receive", |time| {
            let (_sender, receiver) = mpsc::channel::<()>();
            assert!(receiver.recv_timeout(time).is_err());
        }),
    ];
    const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);
    for (name, wait) in waits {
        for time in [Duration::MAX, 137 * YEAR] {
            let report = Builder::new().max_bound(2).spurious(name != "park").explore(move || wait(time));
            let kind = report.failure.map(|failure| failure.kind);
            assert_eq!(kind, Some(FailureKind::Deadlock), "{name} {time:?}");
        }
        for time in [Duration::from_secs(1), YEAR, 100 * YEAR] {
            // Here it wakes for no reason, and is in time.
            let loops = name == "wait";
            let report = Builder::new().max_bound(2).max_steps(200).explore(move || {
                let began = Instant::now();
                wait(time);
                if !matches!(name, "park") {
                    assert!(began.elapsed() > time);
                }
            });
            assert_eq!(report.failure.is_some(), loops, "{name} {time:?}");
        }
    }
}

/// Others go on while somebody waits so, and can end it.
#[test]
fn who_waits_as_long_as_can_be_is_woken() {
    passes(2, || {
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                *shared.0.lock().unwrap() = true;
                shared.1.notify_one();
                sender.send(1).unwrap();
                assert!(Instant::now() + Duration::from_secs(3600) > Instant::now());
            }
        });
        let lock = shared.0.lock().unwrap();
        let (lock, result) = shared.1.wait_timeout_while(lock, Duration::MAX, |is_set| !*is_set).unwrap();
        assert!(*lock && !result.timed_out());
        drop(lock);
        assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(1));
        other.thread().unpark();
        other.join().unwrap();
    });
}

#[test]
fn detached_threads_run_to_their_end() {
    static LIVE: Real = Real::new(0);
    passes(1, || {
        let done = Arc::new(AtomicBool::new(false));
        let theirs = done.clone();
        thread::spawn(move || {
            theirs.store(true, Ordering::SeqCst);
            Counted::new(&LIVE)
        });
        done.load(Ordering::SeqCst);
    });
    assert_eq!(LIVE.load(Ordering::SeqCst), 0);
}

#[test]
fn many_threads() {
    // Memory is the limit; 64 is where a set of threads no longer fits into one word.
    [64, 65, 300].into_iter().for_each(run_threads);
}

fn run_threads(threads: u32) {
    // In whatever order they run: a few orders of very many.
    let model = Builder::new().max_bound(1).max_executions(if threads > 100 { 5 } else { 50 });
    let report = model.explore(move || {
        let count = Arc::new(AtomicU32::new(0));
        let spawn = |_| {
            let count = count.clone();
            thread::spawn(move || count.fetch_add(1, Ordering::SeqCst))
        };
        let children: Vec<_> = (1..threads).map(spawn).collect();
        for child in children {
            child.join().unwrap();
        }
        assert_eq!(count.load(Ordering::SeqCst), threads - 1);
    });
    assert!(report.failure.is_none() && !report.complete, "{threads}: {:?}", report.failure);
}

/// Uses so many bytes of stack.
fn deep(bytes: usize) -> usize {
    let block = std::hint::black_box([1u8; 1024]);
    if bytes < block.len() {
        usize::from(block[7])
    } else {
        deep(bytes - block.len()) + usize::from(block[9])
    }
}

#[test]
fn stacks_have_the_size_that_was_asked_for() {
    let with_stack = |size: usize| {
        Builder::new().max_bound(1).explore(move || {
            let builder = thread::Builder::new().name("deep".to_owned()).stack_size(size);
            let other = thread::spawn(|| deep(16 << 10));
            assert!(builder.spawn(|| deep(1 << 20)).unwrap().join().unwrap() > 0);
            other.join().unwrap();
        })
    };
    let report = with_stack(4 << 20);
    assert!(report.failure.is_none() && report.complete, "{:?}", report.failure);
    let failure = with_stack(1 << 17).failure.expect("a MiB does not fit");
    assert_eq!(failure.kind, FailureKind::StackOverflow);
    assert!(failure.message.contains("overflowed its stack of 262144 bytes"), "{}", failure.message);
}

#[test]
fn a_model_inside_a_model_is_a_mistake_of_the_test() {
    let failure = explore(0, || drop(Builder::new().explore(|| ()))).failure.expect("it is refused");
    assert!(failure.message.starts_with("a model cannot be run inside a model; "), "{}", failure.message);
}

/// What releases after the oldest that is supported have added. (The table of `surface.rs` is of the oldest.)
#[test]
fn what_newer_releases_have_is_there() {
    use icb_std::sync::atomic::AtomicPtr;
    thread_local!(static COUNT: Cell<u32> = const { Cell::new(5) });

    let report = explore(1, || {
        let mut numbers = [0_u32, 0];
        let atomics = AtomicU32::from_mut_slice(&mut numbers);
        thread::scope(|scope| {
            scope.spawn(|| atomics[0].store(1, Ordering::Relaxed));
            atomics[1].store(2, Ordering::Relaxed);
        });
        AtomicU32::get_mut_slice(atomics)[1] += 1;
        assert_eq!(numbers, [1, 3]);
        let mut flag = true;
        assert!(AtomicBool::from_mut(&mut flag).swap(false, Ordering::SeqCst) && !flag);
        let mut pointer = &raw mut flag;
        AtomicPtr::from_mut(&mut pointer).store(std::ptr::null_mut(), Ordering::SeqCst);
        assert!(pointer.is_null());

        let lazy: LazyLock<u32> = LazyLock::from(3);
        assert_eq!((LazyLock::get(&lazy), *lazy), (Some(&3), 3));
        assert!(!Once::default().is_completed());
        COUNT.with(|_| ());
        COUNT.update(|count| count + 1);
        assert_eq!(COUNT.get(), 6);

        let cell = UnsafeCell::new(1);
        // SAFETY: nobody else has the cell.
        unsafe {
            *cell.as_mut_unchecked() += 1;
            assert_eq!((cell.replace(7), *cell.as_ref_unchecked()), (2, 7));
        }

        let first = Arc::new(1);
        let second = Arc::map(first.clone(), |number| number + 1);
        assert!(*second == 2 && Arc::is_unique(&second));
        let weak = Arc::downgrade(&second);
        assert!(!Arc::is_unique(&second));
        drop(weak);
        let other = thread::spawn(move || drop(first));
        assert!(Arc::is_unique(&second));
        other.join().unwrap();
    });
    assert!(report.failure.is_none() && report.complete, "{report}");
}

/// Who finds that it is the only owner has seen the others go.
#[test]
fn the_only_owner_has_seen_the_others_go() {
    struct Owned(UnsafeCell<u32>);
    // SAFETY: one writes before it goes, the other reads when it is the only owner.
    unsafe impl Sync for Owned {}
    let executions = passes(2, || {
        let mine = Arc::new(Owned(UnsafeCell::new(0)));
        let theirs = mine.clone();
        let other = thread::spawn(move || {
            // SAFETY: while there is this owner the other does not touch the value.
            theirs.0.with_mut(|value| unsafe { *value = 1 });
        });
        if Arc::is_unique(&mine) {
            // SAFETY: the other has gone.
            mine.0.with(|value| assert_eq!(unsafe { *value }, 1));
        }
        other.join().unwrap();
    });
    assert!(executions > 1);
}
