//! Memory and lifetimes in a model: leaks are found if asked for, and an object that is used after its memory has been
//! freed is a failure that names both places.

#![cfg(icb)]

use icb_std::cell::UnsafeCell;
use icb_std::model::{
    Builder, Failure, FailureKind, MemoryEvent, MemoryEventKind, OnRace, Reduction, Report,
};
use icb_std::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
use icb_std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak, mpsc};
use icb_std::{thread, thread_local};
use std::cell::RefCell;
use std::collections::HashMap;

fn check(f: impl Fn() + Send + Sync + 'static) -> Report {
    Builder::new().max_bound(1).max_executions(2_000).check_leaks(true).explore(f)
}

fn leak(f: impl Fn() + Send + Sync + 'static) -> Failure {
    let failure = check(f).failure.expect("no leak was found");
    assert_eq!(failure.kind, FailureKind::Leak, "{failure}");
    failure
}

struct Node {
    next: RefCell<Option<Arc<Node>>>,
    back: RefCell<Weak<Node>>,
}

// SAFETY: the models here use a node on one thread at a time.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

fn node() -> Arc<Node> {
    Arc::new(Node { next: RefCell::new(None), back: RefCell::new(Weak::new()) })
}

#[test]
fn an_arc_cycle_leaks() {
    let failure = leak(|| {
        let (one, two) = (node(), node());
        *one.next.borrow_mut() = Some(two.clone());
        *two.next.borrow_mut() = Some(one);
    });
    assert!(failure.message.starts_with("2 blocks of memory"), "{}", failure.message);
    assert!(
        failure.location.as_ref().is_some_and(|place| place.file.ends_with("lifetimes.rs")),
        "{failure:?}"
    );
    assert!(!failure.trace.failure_backtrace.is_empty());
    let report = check(|| {
        let (one, two) = (node(), node());
        *two.back.borrow_mut() = Arc::downgrade(&one);
        *one.next.borrow_mut() = Some(two);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
}

#[test]
fn what_a_static_leads_to_is_kept_and_does_not_leak() {
    struct Cell {
        next: *mut Cell,
    }
    static FIRST: AtomicPtr<Cell> = AtomicPtr::new(std::ptr::null_mut());
    fn push() -> *mut Cell {
        let cell = Box::into_raw(Box::new(Cell { next: FIRST.load(Ordering::Acquire) }));
        FIRST.store(cell, Ordering::Release);
        cell
    }
    let report = check(|| {
        let first = push();
        // SAFETY: nobody frees it.
        assert_eq!(unsafe { &*push() }.next, first);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
    let failure = leak(|| {
        push();
        push();
        FIRST.store(std::ptr::null_mut(), Ordering::Release);
        push();
    });
    assert!(failure.message.starts_with("2 blocks of memory"), "{}", failure.message);
}

#[test]
fn a_box_behind_a_pointer_leaks_only_in_the_executions_where_nobody_takes_it() {
    let failure = leak(|| {
        let slot = Arc::new(AtomicPtr::<u64>::new(std::ptr::null_mut()));
        let theirs = slot.clone();
        let child = thread::spawn(move || {
            // Publishes over whatever is there.
            theirs.store(Box::into_raw(Box::new(1)), Ordering::SeqCst);
        });
        let mine = slot.swap(std::ptr::null_mut(), Ordering::SeqCst);
        child.join().unwrap();
        let mut all = vec![mine];
        if !mine.is_null() {
            all.push(slot.swap(std::ptr::null_mut(), Ordering::SeqCst));
        }
        for pointer in all.into_iter().filter(|pointer| !pointer.is_null()) {
            // SAFETY: it came from `Box::into_raw`, and was swapped out.
            drop(unsafe { Box::from_raw(pointer) });
        }
    });
    assert!(failure.message.starts_with("1 block of memory (8 bytes)"), "{}", failure.message);
}

#[test]
fn what_comes_to_an_end_is_no_leak() {
    static LIST: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static LAZY: LazyLock<RwLock<HashMap<u32, String>>> = LazyLock::new(Default::default);
    static CELL: OnceLock<Box<u32>> = OnceLock::new();
    thread_local!(static LOCAL: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) });
    let report = check(|| {
        let (sender, receiver) = mpsc::channel();
        let children: Vec<_> = (0..2)
            .map(|number| {
                let sender = sender.clone();
                let work = move || {
                    LOCAL.with_borrow_mut(|list| list.extend([number; 9]));
                    LIST.lock().unwrap().push(format!("thread {number}"));
                    LAZY.write().unwrap().insert(number, "value".to_owned());
                    CELL.get_or_init(|| Box::new(number));
                    sender.send(vec![number]).unwrap();
                };
                thread::Builder::new().name(format!("worker {number}")).spawn(work).unwrap()
            })
            .collect();
        assert_eq!(receiver.recv().unwrap().len(), 1);
        children.into_iter().for_each(|child| child.join().unwrap());
        assert!(thread::spawn(|| panic!("expected {}", 1)).join().is_err());
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert!(report.execution_count() > 10);
}

#[test]
fn what_is_kept_on_purpose_is_no_leak() {
    static KEPT: std::sync::OnceLock<Vec<u32>> = std::sync::OnceLock::new();
    static LATEST: std::sync::Mutex<Option<Vec<u32>>> = std::sync::Mutex::new(None);
    let report = check(|| {
        assert_eq!(KEPT.get_or_init(|| vec![1, 2, 3]).len(), 3);
        // The value of the execution before goes only now.
        *LATEST.lock().unwrap() = Some(vec![1]);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
}

#[test]
fn without_being_asked_nobody_looks_for_leaks() {
    let report = Builder::new().max_bound(0).explore(|| std::mem::forget(std::hint::black_box(Box::new(1))));
    assert!(report.failure.is_none());
    assert!(
        leak(|| std::mem::forget(std::hint::black_box(Box::new(1))))
            .message
            .contains("(4 bytes) is never freed")
    );
}

#[test]
fn a_thread_that_never_ends_is_a_deadlock() {
    let report = check(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        std::mem::forget(sender);
        thread::spawn(move || while receiver.recv().is_ok() {});
    });
    let failure = report.failure.expect("the worker never ends");
    assert_eq!(failure.kind, FailureKind::Deadlock);
    assert!(failure.message.contains("T1 waits for a message"), "{}", failure.message);
}

/// Frees a block that holds an object, then uses the object; `use_it` gets a pointer to freed memory.
fn use_after_free<T: Send + Sync + 'static>(make: fn() -> T, use_it: fn(&T)) {
    let report = Builder::new().max_bound(1).explore(move || {
        let object = Box::into_raw(Box::new(make()));
        let address = object.expose_provenance();
        let child = thread::spawn(move || {
            // SAFETY: the box is not used again, says the program wrongly.
            drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<T>(address)) });
        });
        child.join().unwrap();
        // SAFETY: it is not; that is what is to be found. The memory is still mapped.
        use_it(unsafe { &*object });
    });
    let name = std::any::type_name::<T>();
    let failure = report.failure.unwrap_or_else(|| panic!("{name}: nothing was found"));
    assert_eq!(failure.kind, FailureKind::UseAfterFree, "{name}: {failure}");
    let [freed, used] = *failure.race.unwrap_or_else(|| panic!("{name}: no places"));
    assert_eq!((freed.thread.index(), used.thread.index()), (1, 0), "{name}");
    for access in [&freed, &used] {
        let place = access.location.as_ref().map_or("", |place| place.file.as_str());
        assert!(place.ends_with("lifetimes.rs") && !access.backtrace.is_empty(), "{name}: {access:?}");
    }
    assert_eq!(events(&failure.memory), [(MemoryEventKind::Allocated, 0)], "{name}");
}

/// The count is looked at by a `drop`, which tells no place but its own.
#[test]
fn an_arc_that_is_dropped_once_too_often_is_told_by_a_place_of_the_program() {
    let report = Builder::new().explore(|| {
        let pointer = Arc::into_raw(Arc::new(AtomicU32::new(0))).expose_provenance();
        let child = thread::spawn(move || {
            // SAFETY: the count is given up twice; that is what is to be found. The memory is still mapped.
            unsafe { Arc::decrement_strong_count(std::ptr::with_exposed_provenance::<AtomicU32>(pointer)) };
        });
        // SAFETY: as above.
        drop(unsafe { Arc::from_raw(std::ptr::with_exposed_provenance::<AtomicU32>(pointer)) });
        child.join().unwrap();
    });
    let failure = report.failure.expect("the second drop uses what the first has freed");
    assert_eq!(failure.kind, FailureKind::UseAfterFree, "{failure}");
    assert!(failure.message.starts_with("Arc<AtomicU32> #"), "{failure}");
    let places = failure.race.iter().flat_map(|race| race.iter().map(|access| &access.location));
    for place in places.chain([&failure.location]) {
        let file = place.as_ref().map_or("", |place| place.file.as_str());
        assert!(file.ends_with("lifetimes.rs"), "{place:?}");
    }
}

/// What became of a block, and who did it; each event has a place in this file.
fn events(memory: &[MemoryEvent]) -> Vec<(MemoryEventKind, usize)> {
    for event in memory {
        let place = event.location.as_ref().map_or("", |place| place.file.as_str());
        assert!(place.ends_with("lifetimes.rs") && !event.backtrace.is_empty(), "{event:?}");
    }
    memory.iter().map(|event| (event.kind, event.thread.index())).collect()
}

#[test]
fn a_second_free_is_told_with_the_first_and_the_allocation() {
    let report = Builder::new().max_bound(0).explore(|| {
        let block = Box::into_raw(Box::new([7_u64; 4])).expose_provenance();
        let free = move || {
            // SAFETY: it is not; that is what is to be found. The memory is still mapped.
            drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<[u64; 4]>(block)) });
        };
        thread::spawn(free).join().unwrap();
        thread::spawn(free).join().unwrap();
    });
    let failure = report.failure.expect("the block is freed twice");
    assert_eq!(failure.kind, FailureKind::DoubleFree, "{failure}");
    let expected =
        [(MemoryEventKind::Allocated, 0), (MemoryEventKind::Freed, 1), (MemoryEventKind::FreedAgain, 2)];
    assert_eq!(events(&failure.memory), expected);
}

#[test]
fn a_leak_is_told_with_the_last_use_and_the_end_of_the_last_owner() {
    struct Owner(*const AtomicU32);
    // SAFETY: an atomic may be used by any thread.
    unsafe impl Send for Owner {}
    let failure = leak(|| {
        let owner = Box::new(Owner(Box::into_raw(Box::new(AtomicU32::new(0)))));
        let child = thread::spawn(move || {
            // SAFETY: nobody frees it.
            unsafe { &*owner.0 }.store(1, Ordering::SeqCst);
            drop(owner);
        });
        child.join().unwrap();
    });
    let expected =
        [(MemoryEventKind::Allocated, 0), (MemoryEventKind::UsedLast, 1), (MemoryEventKind::Lost, 1)];
    assert_eq!(events(&failure.memory), expected);
}

#[test]
fn every_kind_of_object_tells_that_its_memory_has_been_freed() {
    use_after_free(|| Mutex::new(1), |mutex| drop(mutex.lock()));
    use_after_free(|| Mutex::new(1), |mutex| drop(mutex.try_lock()));
    use_after_free(|| RwLock::new(1), |lock| drop(lock.read()));
    use_after_free(|| RwLock::new(1), |lock| drop(lock.try_write()));
    use_after_free(Condvar::new, |condvar| condvar.notify_all());
    use_after_free(|| Barrier::new(1), |barrier| _ = barrier.wait());
    use_after_free(Once::new, |once| once.call_once(|| ()));
    use_after_free(|| OnceLock::from(1), |cell| assert!(cell.get().is_some()));
    use_after_free(|| AtomicU32::new(1), |atomic| atomic.store(2, Ordering::SeqCst));
}

/// By the number that it has in the steps before.
#[test]
fn what_was_used_before_its_memory_was_freed_is_told_by_its_number() {
    let report = Builder::new().max_bound(0).explore(|| {
        let flag = Box::into_raw(Box::new(AtomicU32::new(1)));
        let address = flag.expose_provenance();
        // SAFETY: it has not been freed yet.
        unsafe { &*flag }.store(2, Ordering::SeqCst);
        let child = thread::spawn(move || {
            // SAFETY: the box is not used again, says the program wrongly.
            drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<AtomicU32>(address)) });
        });
        child.join().unwrap();
        // SAFETY: it is not; that is what is to be found. The memory is still mapped.
        unsafe { &*flag }.load(Ordering::SeqCst);
    });
    let failure = report.failure.expect("the flag is used after it was freed");
    let flags: Vec<_> =
        failure.trace.objects.iter().filter(|object| object.type_name == "AtomicU32").collect();
    assert_eq!(flags.len(), 1, "{flags:?}");
    assert_eq!(failure.message, format!("AtomicU32 {} is used after its memory has been freed", flags[0].id));
}

/// A free is no step, but it is not forgotten that it happened after the step before it: whether the use or the free comes
/// first is tried, with the reduction as without. (Where a free that nothing orders is no failure by itself.)
#[test]
fn the_order_of_a_use_and_a_free_is_explored() {
    fn program<T: Send + Sync + 'static>(
        make: fn() -> T,
        use_it: fn(&T),
    ) -> impl Fn() + Send + Sync + 'static {
        move || {
            let object = Box::into_raw(Box::new(make()));
            let address = object.expose_provenance();
            let child = thread::spawn(move || {
                // SAFETY: it is not; that is what is to be found.
                drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<T>(address)) });
            });
            // SAFETY: as above.
            use_it(unsafe { &*object });
            child.join().unwrap();
        }
    }
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let explore = || Builder::new().max_bound(1).reduction(reduction).on_race(OnRace::Promote);
        let reports = [
            explore().explore(program(|| Mutex::new(1), |mutex| drop(mutex.lock()))),
            explore().explore(program(|| AtomicU32::new(1), |atomic| atomic.store(2, Ordering::SeqCst))),
        ];
        for report in reports {
            let failure = report.failure.unwrap_or_else(|| panic!("{reduction:?}: nothing was found"));
            assert_eq!((failure.kind, failure.bound), (FailureKind::UseAfterFree, 1), "{reduction:?}");
        }
    }
}

/// A block that two threads own together, counted by hand. The count lies elsewhere, and is never freed.
struct Counted<T> {
    owners: &'static AtomicU32,
    value: T,
}

impl<T> Counted<T> {
    fn new(value: T) -> *mut Self {
        Box::into_raw(Box::new(Counted { owners: Box::leak(Box::new(AtomicU32::new(2))), value }))
    }

    /// One owner less. The last one frees it, having seen what `order` lets it see; `fence`: and then everything.
    ///
    /// # Safety
    /// The caller is an owner, and is none any more.
    unsafe fn release(this: *mut Self, order: Ordering, fenced: bool) {
        // SAFETY: an owner keeps it.
        if unsafe { &*this }.owners.fetch_sub(1, order) == 1 {
            if fenced {
                fence(Ordering::Acquire);
            }
            // SAFETY: the last owner.
            drop(unsafe { Box::from_raw(this) });
        }
    }
}

/// Two threads use the value and let go of it.
fn two_owners<T: 'static>(
    new: fn() -> T,
    use_it: fn(&T),
    order: Ordering,
    fenced: bool,
) -> impl Fn() + Send + Sync {
    move || {
        let shared = Counted::new(new()) as usize;
        let work = move || {
            let shared = shared as *mut Counted<T>;
            // SAFETY: an owner keeps it.
            use_it(unsafe { &(*shared).value });
            // SAFETY: each thread is an owner once.
            unsafe { Counted::release(shared, order, fenced) };
        };
        let other = thread::spawn(work);
        work();
        // Nothing but the count orders the two.
        drop(other);
    }
}

type Body = Box<dyn Fn() + Send + Sync>;

/// What a value of each kind is used for, by whom nothing is published.
fn kinds(order: Ordering, fenced: bool) -> [(&'static str, Body); 5] {
    [
        (
            "an atomic variable",
            Box::new(two_owners(
                || AtomicU32::new(0),
                |value| value.store(1, Ordering::Relaxed),
                order,
                fenced,
            )),
        ),
        ("a Mutex", Box::new(two_owners(|| Mutex::new(0), |value| drop(value.try_lock()), order, fenced))),
        ("an RwLock", Box::new(two_owners(|| RwLock::new(0), |value| drop(value.try_read()), order, fenced))),
        ("a Condvar", Box::new(two_owners(Condvar::new, Condvar::notify_all, order, fenced))),
        (
            "a cell",
            Box::new(two_owners(
                || UnsafeCell::new(0),
                |value| {
                    // SAFETY: read only.
                    value.with(|value| assert_eq!(unsafe { *value }, 0));
                },
                order,
                fenced,
            )),
        ),
    ]
}

fn checked(max_bound: u32) -> Builder {
    Builder::new().max_bound(max_bound).check_frees(true)
}

#[test]
fn what_the_model_does_not_see_may_keep_memory_unless_all_is_seen() {
    let program = || {
        let number = std::sync::Arc::new(AtomicU32::new(0));
        let theirs = number.clone();
        let other = thread::spawn(move || theirs.store(1, Ordering::SeqCst));
        number.store(2, Ordering::SeqCst);
        drop(number);
        other.join().unwrap();
    };
    let report = Builder::new().max_bound(2).explore(program);
    assert!(report.failure.is_none(), "{:?}", report.failure);
    let failure = checked(2).explore(program).failure.expect("std's own `Arc` orders nothing in a model");
    assert_eq!(failure.kind, FailureKind::UseAfterFree, "{failure}");
}

#[test]
fn a_free_that_nothing_orders_after_a_use_is_found_without_waiting_for_the_use_to_come_later() {
    for (kind, program) in kinds(Ordering::Relaxed, false) {
        let failure = checked(1).explore(program).failure.unwrap_or_else(|| panic!("{kind}"));
        // Whoever has had a Mutex has seen who had it before; a `try_lock` that fails has not, and is seen by nobody.
        let bound = u32::from(kind == "a Mutex");
        assert_eq!((failure.kind, failure.bound), (FailureKind::UseAfterFree, bound), "{failure}");
        assert!(
            failure
                .message
                .starts_with(&format!("memory is freed after {kind} in it has been used: use by T")),
            "{failure}"
        );
        let [used, freed] = *failure.race.expect("both sides");
        assert!(!used.frees && freed.frees && used.thread != freed.thread);
        for side in [used, freed] {
            let place = side.location.expect("a place");
            assert!(place.file.ends_with("lifetimes.rs"), "{place}");
            assert!(!side.backtrace.is_empty());
        }
    }
}

#[test]
fn a_free_that_is_ordered_after_all_uses_is_none_too_early() {
    for (order, fenced) in [(Ordering::AcqRel, false), (Ordering::Release, true), (Ordering::SeqCst, false)] {
        for (kind, program) in kinds(order, fenced) {
            let report = checked(2).explore(program);
            assert!(report.failure.is_none(), "{kind}: {:?}", report.failure);
        }
    }
    // An acquire that reads what was stored last is enough, and so is the end of a thread.
    let report = checked(2).explore(|| {
        let flags = Box::into_raw(Box::new([AtomicU32::new(0), AtomicU32::new(0)]));
        // SAFETY: freed below, once both stores have been seen.
        let [flag, other] = unsafe { &*flags };
        let first = thread::spawn(|| {
            other.store(1, Ordering::Relaxed);
            flag.store(1, Ordering::Release);
        });
        while flag.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(flags) });
        first.join().unwrap();
        let lock = Box::new(Mutex::new(0));
        thread::scope(|scope| {
            scope.spawn(|| *lock.lock().unwrap() += 1);
            scope.spawn(|| drop(lock.try_lock()));
        });
        drop(lock);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
}
