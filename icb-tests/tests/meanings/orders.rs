//! What orders data accesses and what does not.

use crate::{check_verdicts, failure, plain};
use icb_std::cell::UnsafeCell;
use icb_std::model::{FailureKind, Granularity, OnRace};
use icb_std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use icb_std::sync::atomic::{AtomicUsize, fence};
use icb_std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Weak, mpsc};
use icb_std::{thread, thread_local};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Data without any order of its own.
#[derive(Default)]
pub(crate) struct Data(UnsafeCell<usize>);

// SAFETY: accessed through `get` and `set` only, one thread at a time under the tester.
unsafe impl Sync for Data {}
// SAFETY: a number can be sent.
unsafe impl Send for Data {}

impl Data {
    #[track_caller]
    fn get(&self) -> usize {
        // SAFETY: the pointer is valid during the call, and nobody else runs meanwhile.
        self.0.with(|data| unsafe { *data })
    }

    #[track_caller]
    fn set(&self, value: usize) {
        // SAFETY: as for `get`.
        self.0.with_mut(|data| unsafe { *data = value });
    }
}

const RACE: Option<(FailureKind, u32)> = Some((FailureKind::DataRace, 1));
const RACE_AT_ONCE: Option<(FailureKind, u32)> = Some((FailureKind::DataRace, 0));

/// Writes the data, then raises the flag; the other reads the data if it sees the flag.
#[derive(Clone, Copy)]
struct MessagePassing {
    store: Ordering,
    load: Ordering,
    fence_before_store: Option<Ordering>,
    fence_after_load: Option<Ordering>,
}

impl MessagePassing {
    fn run(self) {
        let shared = Arc::new((Data::default(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.set(1);
            self.fence_before_store.into_iter().for_each(fence);
            theirs.1.store(1, self.store);
        });
        // Without a preemption the other thread runs to its end here, or not before this one blocks.
        thread::yield_now();
        if shared.1.load(self.load) == 1 {
            self.fence_after_load.into_iter().for_each(fence);
            assert_eq!(shared.0.get(), 1);
        }
        other.join().unwrap();
    }
}

#[test]
fn message_passing_needs_release_and_acquire() {
    let orders =
        |store, load| MessagePassing { store, load, fence_before_store: None, fence_after_load: None };
    let fences = |before: Option<Ordering>, after: Option<Ordering>| MessagePassing {
        store: Relaxed,
        load: Relaxed,
        fence_before_store: before,
        fence_after_load: after,
    };
    let table = [
        (orders(Release, Acquire), true),
        (orders(SeqCst, SeqCst), true),
        (orders(SeqCst, Acquire), true),
        (orders(Release, SeqCst), true),
        (orders(Relaxed, Acquire), false),
        (orders(Release, Relaxed), false),
        (orders(Relaxed, Relaxed), false),
        (orders(Relaxed, SeqCst), false),
        (fences(Some(Release), Some(Acquire)), true),
        (fences(Some(AcqRel), Some(AcqRel)), true),
        (fences(Some(SeqCst), Some(SeqCst)), true),
        (fences(Some(Acquire), Some(Acquire)), false),
        (fences(Some(Release), Some(Release)), false),
        (fences(Some(Release), None), false),
        (fences(None, Some(Acquire)), false),
        (MessagePassing { load: Acquire, ..fences(Some(Release), None) }, true),
        (MessagePassing { store: Release, ..fences(None, Some(Acquire)) }, true),
    ];
    for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
        for (program, is_ordered) in table {
            let report = plain().granularity(granularity).explore(move || program.run());
            let race = report.failure.as_ref().map(|f| (f.kind, f.bound));
            let name = format!(
                "{:?} {:?}, {:?} {:?}",
                program.fence_before_store, program.store, program.load, program.fence_after_load
            );
            assert_eq!(race, if is_ordered { None } else { RACE_AT_ONCE }, "{name}: {granularity:?}");
        }
    }
}

/// The writer releases, somebody else changes the variable in between, the reader acquires.
fn release_sequence(between: fn(&AtomicUsize)) {
    let shared = Arc::new((Data::default(), AtomicUsize::new(0)));
    let (writer, changer) = (shared.clone(), shared.clone());
    let threads = [
        thread::spawn(move || {
            writer.0.set(1);
            writer.1.store(1, Release);
        }),
        thread::spawn(move || {
            if changer.1.load(Relaxed) == 1 {
                between(&changer.1);
            }
        }),
    ];
    thread::yield_now();
    if shared.1.load(Acquire) == 2 {
        assert_eq!(shared.0.get(), 1);
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn updates_continue_a_release_sequence_and_stores_end_it() {
    check_verdicts(
        &plain(),
        &[
            ("relaxed update", || release_sequence(|v| assert!(v.fetch_add(1, Relaxed) == 1)), None),
            (
                "relaxed exchange",
                || release_sequence(|v| assert!(v.compare_exchange(1, 2, Relaxed, Relaxed).is_ok())),
                None,
            ),
            ("relaxed store", || release_sequence(|v| v.store(2, Relaxed)), RACE_AT_ONCE),
            ("release store of another", || release_sequence(|v| v.store(2, Release)), RACE_AT_ONCE),
        ],
    );
}

/// The flag is looked at by an exchange that fails where the flag is raised, or succeeds.
fn look_by_exchange(expected: usize, success: Ordering, failure: Ordering) {
    let shared = Arc::new((Data::default(), AtomicUsize::new(0)));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        theirs.0.set(1);
        theirs.1.store(1, Release);
    });
    thread::yield_now();
    let seen = shared.1.compare_exchange(expected, 2, success, failure).unwrap_or_else(|seen| seen);
    if seen == 1 {
        assert_eq!(shared.0.get(), 1);
    }
    other.join().unwrap();
}

#[test]
fn an_exchange_orders_as_its_success_or_its_failure_says() {
    check_verdicts(
        &plain(),
        &[
            ("a success that acquires", || look_by_exchange(1, Acquire, Relaxed), None),
            ("a success that does not", || look_by_exchange(1, Relaxed, Acquire), RACE_AT_ONCE),
            ("a failure that acquires", || look_by_exchange(7, Relaxed, Acquire), None),
            ("a failure that does not", || look_by_exchange(7, Acquire, Relaxed), RACE_AT_ONCE),
        ],
    );
}

/// Every primitive that carries data from one thread to another.
#[test]
fn what_synchronizes_orders_data() {
    fn handed_over(give: fn(&Shared), take: fn(&Shared) -> bool) {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.data.set(1);
            give(&theirs);
        });
        if take(&shared) {
            assert_eq!(shared.data.get(), 1);
        }
        other.join().unwrap();
        assert_eq!(shared.data.get(), 1, "join");
    }
    check_verdicts(
        &plain(),
        &[
            (
                "mutex",
                || handed_over(|s| *s.mutex.lock().unwrap() = true, |s| *s.mutex.lock().unwrap()),
                None,
            ),
            (
                "rwlock",
                || handed_over(|s| *s.lock.write().unwrap() = true, |s| *s.lock.read().unwrap()),
                None,
            ),
            (
                "try_lock",
                || {
                    handed_over(
                        |s| *s.mutex.lock().unwrap() = true,
                        |s| s.mutex.try_lock().is_ok_and(|guard| *guard),
                    );
                },
                None,
            ),
            (
                "condvar",
                || {
                    handed_over(
                        |s| {
                            *s.mutex.lock().unwrap() = true;
                            s.condvar.notify_one();
                        },
                        |s| {
                            let guard = s.mutex.lock().unwrap();
                            *s.condvar.wait_while(guard, |done| !*done).unwrap()
                        },
                    );
                },
                None,
            ),
            ("once", || handed_over(|s| s.once.call_once(|| ()), |s| s.once.is_completed()), None),
            (
                "once, run by either",
                || {
                    handed_over(
                        |s| s.once.call_once(|| ()),
                        |s| {
                            let mut mine = false;
                            s.once.call_once(|| mine = true);
                            !mine
                        },
                    );
                },
                None,
            ),
            ("once lock", || handed_over(|s| s.value.set(3).unwrap(), |s| s.value.get().is_some()), None),
            (
                "channel",
                || {
                    handed_over(
                        |s| s.channel.0.send(()).unwrap(),
                        |s| s.channel.1.lock().unwrap().recv().is_ok(),
                    );
                },
                None,
            ),
            (
                "channel, tried",
                || {
                    handed_over(
                        |s| s.channel.0.send(()).unwrap(),
                        |s| s.channel.1.lock().unwrap().try_recv().is_ok(),
                    );
                },
                None,
            ),
            (
                "barrier",
                || {
                    handed_over(
                        |s| {
                            s.barrier.wait();
                        },
                        |s| {
                            s.barrier.wait();
                            true
                        },
                    )
                },
                None,
            ),
            (
                "unpark",
                || {
                    let data = Arc::new(Data::default());
                    let (theirs, main) = (data.clone(), thread::current());
                    let other = thread::spawn(move || {
                        theirs.set(1);
                        main.unpark();
                    });
                    thread::park();
                    assert_eq!(data.get(), 1);
                    other.join().unwrap();
                },
                None,
            ),
            (
                "scope",
                || {
                    let data = Data::default();
                    data.set(1);
                    thread::scope(|scope| drop(scope.spawn(|| data.set(2))));
                    assert_eq!(data.get(), 2);
                },
                None,
            ),
            (
                "the last owner of an Arc",
                || {
                    let data = Arc::new(Data::default());
                    let theirs = data.clone();
                    let other = thread::spawn(move || theirs.set(1));
                    drop(Arc::try_unwrap(data).map(|data| data.set(2)));
                    other.join().unwrap();
                },
                None,
            ),
            (
                "an upgrade of what another one has made",
                || {
                    let (weak, data) = (Arc::<OnceLock<Weak<()>>>::default(), Arc::<Data>::default());
                    let (their_weak, theirs) = (weak.clone(), data.clone());
                    let other = thread::spawn(move || {
                        let upgraded = their_weak.get().and_then(Weak::upgrade);
                        if upgraded.is_some() {
                            theirs.set(2);
                        }
                    });
                    let made = Arc::new_cyclic(|made| {
                        assert!(weak.set(made.clone()).is_ok());
                        data.set(1);
                    });
                    other.join().unwrap();
                    drop(made);
                },
                None,
            ),
        ],
    );
}

struct Shared {
    data: Data,
    mutex: Mutex<bool>,
    condvar: Condvar,
    lock: RwLock<bool>,
    once: Once,
    value: OnceLock<usize>,
    channel: (mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>),
    barrier: Barrier,
}

impl Default for Shared {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel();
        Shared {
            data: Data::default(),
            mutex: Mutex::default(),
            condvar: Condvar::default(),
            lock: RwLock::default(),
            once: Once::new(),
            value: OnceLock::new(),
            channel: (sender, Mutex::new(receiver)),
            barrier: Barrier::new(2),
        }
    }
}

/// A call that panics.
fn poison(once: &Once, initialiser: fn()) {
    assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(initialiser))).is_err());
}

/// Who learns that an initialiser has panicked comes after that, also where nobody initialises it again.
#[test]
fn a_poisoned_once_orders() {
    let body = || {
        let shared = Arc::new((Once::new(), Data::default()));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.1.set(1);
            poison(&theirs.0, || panic!("poisons it"));
        });
        assert!(catch_unwind(AssertUnwindSafe(|| shared.0.wait())).is_err());
        assert_eq!(shared.1.get(), 1);
        other.join().unwrap();
    };
    check_verdicts(&plain().max_bound(2), &[("wait", body, None)]);
}

/// Looks synchronized, is not.
#[test]
fn what_does_not_synchronize_orders_nothing() {
    fn spawned(theirs: fn(&Shared), mine: fn(&Shared)) {
        let shared = Arc::new(Shared::default());
        let other = shared.clone();
        let other = thread::spawn(move || theirs(&other));
        mine(&shared);
        other.join().unwrap();
    }
    check_verdicts(
        &plain(),
        &[
            ("nothing", || spawned(|s| s.data.set(1), |s| s.data.set(2)), RACE_AT_ONCE),
            ("read and write", || spawned(|s| s.data.set(1), |s| assert!(s.data.get() < 2)), RACE_AT_ONCE),
            ("two reads", || spawned(|s| assert!(s.data.get() < 2), |s| assert!(s.data.get() < 2)), None),
            (
                "different locks",
                || {
                    spawned(
                        |s| {
                            let _guard = s.mutex.lock().unwrap();
                            s.data.set(1);
                        },
                        |s| {
                            let _guard = s.lock.write().unwrap();
                            s.data.set(1);
                        },
                    );
                },
                RACE_AT_ONCE,
            ),
            (
                "written under a read lock",
                || {
                    spawned(
                        |s| {
                            let _guard = s.lock.read().unwrap();
                            s.data.set(1);
                        },
                        |s| {
                            let _guard = s.lock.read().unwrap();
                            s.data.set(1);
                        },
                    );
                },
                RACE_AT_ONCE,
            ),
            (
                "a notification without the mutex",
                || {
                    spawned(
                        |s| {
                            s.condvar.notify_one();
                            s.data.set(1);
                        },
                        |s| {
                            s.condvar.notify_one();
                            s.data.set(1);
                        },
                    );
                },
                RACE_AT_ONCE,
            ),
            (
                "a message taken while there is more room",
                || {
                    let (sender, receiver) = mpsc::sync_channel(2);
                    let shared = Arc::new((Data::default(), AtomicUsize::new(0)));
                    let theirs = shared.clone();
                    let other = thread::spawn(move || {
                        theirs.0.set(1);
                        assert_eq!(receiver.recv(), Ok(1));
                        theirs.1.store(1, Relaxed);
                        receiver
                    });
                    sender.send(1).unwrap();
                    if shared.1.load(Relaxed) == 1 {
                        sender.send(2).unwrap();
                        shared.0.set(2);
                    }
                    other.join().unwrap();
                },
                RACE,
            ),
            (
                "a call that finds a Once poisoned",
                || {
                    let shared = Arc::new((Data::default(), AtomicUsize::new(0), Once::new()));
                    poison(&shared.2, || panic!("poisons it"));
                    let theirs = shared.clone();
                    let other = thread::spawn(move || {
                        theirs.0.set(1);
                        poison(&theirs.2, || ());
                        theirs.1.store(1, Relaxed);
                    });
                    if shared.1.load(Relaxed) == 1 {
                        shared.2.call_once_force(|_| shared.0.set(2));
                    }
                    other.join().unwrap();
                },
                RACE,
            ),
            (
                "an upgrade that fails",
                || {
                    let owner = Arc::new(Data::default());
                    let weak = Arc::downgrade(&owner);
                    let (data, theirs) = twice(Arc::<Data>::default());
                    let other = thread::spawn(move || {
                        theirs.set(1);
                        drop(owner);
                    });
                    if weak.upgrade().is_none() {
                        data.set(2);
                    }
                    other.join().unwrap();
                },
                RACE,
            ),
            (
                "an owner who is not the last",
                || {
                    let (mine, theirs) = twice(Arc::<Data>::default());
                    let third = mine.clone();
                    let other = thread::spawn(move || {
                        theirs.set(1);
                        drop(theirs);
                    });
                    if let Err(mine) = Arc::try_unwrap(mine)
                        && Arc::strong_count(&mine) == 2
                    {
                        mine.set(2);
                    }
                    other.join().unwrap();
                    drop(third);
                },
                RACE,
            ),
            (
                "a handle that says that its thread has ended",
                || {
                    let (data, theirs) = twice(Arc::<Data>::default());
                    let other = thread::spawn(move || theirs.set(1));
                    if other.is_finished() {
                        data.set(2);
                    }
                    other.join().unwrap();
                },
                RACE,
            ),
            // In the other order the channel is between them: only a preemption behind the send shows it.
            (
                "sent too early",
                || {
                    spawned(
                        |s| {
                            s.channel.0.send(()).unwrap();
                            s.data.set(1);
                        },
                        |s| {
                            s.channel.1.lock().unwrap().recv().unwrap();
                            s.data.set(1);
                        },
                    );
                },
                RACE_AT_ONCE,
            ),
        ],
    );
}

/// The accesses are told with their places, the earlier first.
#[test]
fn a_race_tells_both_places() {
    let report = plain().explore(|| {
        let data = Arc::new(Data::default());
        let theirs = data.clone();
        let other = thread::spawn(move || theirs.set(1));
        let _ = data.get();
        other.join().unwrap();
    });
    let failure = failure(&report);
    let race = failure.race.as_ref().expect("two accesses");
    assert_eq!(race.each_ref().map(|access| (access.thread.index(), access.write)), [(0, false), (1, true)]);
    for access in race.iter() {
        let location = access.location.as_ref().expect("a place");
        assert!(location.file.ends_with("meanings/orders.rs"), "{location}");
        assert!(failure.message.contains(&location.to_string()), "{failure}");
        assert!(!access.backtrace.is_empty());
    }
}

/// Read, then write back: two increments can become one.
fn lost_update() {
    let data = Arc::new(Data::default());
    let theirs = data.clone();
    let other = thread::spawn(move || theirs.set(theirs.get() + 1));
    data.set(data.get() + 1);
    other.join().unwrap();
    assert_eq!(data.get(), 2, "an increment was lost");
}

#[test]
fn a_promoted_race_is_searched_like_synchronization() {
    let report = plain().explore(lost_update);
    assert_eq!(failure(&report).kind, FailureKind::DataRace);
    for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
        let report = plain().on_race(OnRace::Promote).granularity(granularity).explore(lost_update);
        let failure = failure(&report);
        assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 1), "{granularity:?}: {failure}");
        assert!(failure.message.contains("an increment was lost"), "{failure}");
        assert_eq!(report.proved_bound(), Some(0));
    }
    // A race that does no harm passes.
    let report = plain().on_race(OnRace::Promote).explore(|| {
        let data = Arc::new(Data::default());
        let theirs = data.clone();
        let other = thread::spawn(move || theirs.set(1));
        data.set(2);
        other.join().unwrap();
        assert!([1, 2].contains(&data.get()));
    });
    assert!(report.complete, "{:?}", report.failure);
    // Both orders of the writes are tried: one is a preemption.
    assert!(report.bounds[1].executions > 0);
}

/// A race that only a preemption shows.
#[test]
fn races_have_bounds() {
    fn guarded_by_a_flag() {
        let shared = Arc::new((Data::default(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            if theirs.1.load(SeqCst) == 1 {
                theirs.0.set(1);
            }
        });
        shared.1.store(1, Relaxed);
        shared.1.store(0, Relaxed);
        shared.0.set(2);
        other.join().unwrap();
    }
    check_verdicts(&plain(), &[("guarded by a flag", guarded_by_a_flag, RACE)]);
}

/// To clone what an `Arc` holds may take steps. Who does it to have one of its own gives up the old one after that, and may be the last owner then: it
/// comes after those who have gone meanwhile.
#[test]
fn who_has_cloned_a_value_goes_after_the_other_owners() {
    #[derive(Default)]
    struct Counted(AtomicUsize);
    impl Clone for Counted {
        fn clone(&self) -> Counted {
            Counted(AtomicUsize::new(self.0.load(Relaxed)))
        }
    }
    fn other_owner(makes: fn(Arc<Counted>)) {
        let (mine, theirs) = twice(Arc::<Counted>::default());
        let other = thread::spawn(move || {
            theirs.0.fetch_add(1, Relaxed);
            drop(theirs);
        });
        makes(mine);
        other.join().unwrap();
    }
    check_verdicts(
        &plain().max_bound(3).check_frees(true),
        &[
            ("make_mut", || other_owner(|mut mine| *Arc::make_mut(&mut mine).0.get_mut() += 1), None),
            (
                "unwrap_or_clone",
                || other_owner(|mine| assert!(Arc::unwrap_or_clone(mine).0.into_inner() < 2)),
                None,
            ),
        ],
    );
}

/// Who finds out that a thread has let go of what they share comes after what the thread has done until then, and not after what its thread-locals do.
/// Whichever of a thread and its handle lets go last, and drops the result, comes after the other.
#[test]
fn who_finds_that_a_thread_has_let_go_comes_after_that() {
    struct Writes(Arc<Data>);
    impl Drop for Writes {
        fn drop(&mut self) {
            self.0.set(1);
        }
    }
    thread_local!(static LOCAL: RefCell<Option<Writes>> = const { RefCell::new(None) });
    check_verdicts(
        &plain().max_bound(2),
        &[
            (
                "a scope is over",
                || {
                    let (shared, theirs) = twice(Arc::<Data>::default());
                    thread::scope(|scope| drop(scope.spawn(|| LOCAL.set(Some(Writes(theirs))))));
                    shared.get();
                },
                RACE_AT_ONCE,
            ),
            (
                "a thread has finished",
                || {
                    let (shared, theirs) = twice(Arc::<Data>::default());
                    let handle = thread::spawn(move || LOCAL.set(Some(Writes(theirs))));
                    if handle.is_finished() {
                        shared.get();
                    }
                },
                RACE,
            ),
            (
                "a thread is joined",
                || {
                    let (shared, theirs) = twice(Arc::<Data>::default());
                    thread::spawn(move || LOCAL.set(Some(Writes(theirs)))).join().unwrap();
                    shared.get();
                },
                None,
            ),
            (
                "the result is dropped by the thread, or by the handle",
                || {
                    let (shared, theirs) = twice(Arc::<Data>::default());
                    let handle = thread::spawn(move || Writes(theirs));
                    shared.set(1);
                    drop(handle);
                },
                None,
            ),
        ],
    );
}

fn twice<T: Clone>(value: T) -> (T, T) {
    (value.clone(), value)
}

/// Others may meet at a barrier before one has left it: he still comes after those whom he has met.
#[test]
fn who_leaves_a_barrier_late_has_met_those_who_came_with_him() {
    let body = || {
        let shared = Arc::new((Barrier::new(2), Data::default(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let late = thread::spawn(move || {
            theirs.0.wait();
            assert_eq!(theirs.1.get(), 1);
        });
        let theirs = shared.clone();
        let first = thread::spawn(move || {
            theirs.1.set(1);
            theirs.0.wait();
            theirs.2.store(1, Relaxed);
        });
        if shared.2.load(Relaxed) == 1 {
            let theirs = shared.clone();
            let other = thread::spawn(move || theirs.0.wait());
            shared.0.wait();
            other.join().unwrap();
        }
        late.join().unwrap();
        first.join().unwrap();
    };
    check_verdicts(&plain().max_bound(2), &[("two generations", body, None)]);
}

/// The end of one side of a channel as the other side finds it: what was done before that is seen where `std` says so. A look at an unbounded or bounded channel
/// is relaxed, and nothing says that somebody has had to wait.
#[test]
fn who_finds_nobody_at_the_other_end() {
    fn receiver_finds(capacity: Option<usize>, receive: fn(&mpsc::Receiver<()>) -> bool) {
        let data = Arc::new(Data::default());
        let theirs = data.clone();
        let (sender, receiver) = of_capacity(capacity);
        let other = thread::spawn(move || {
            theirs.set(1);
            drop(sender);
        });
        if receive(&receiver) {
            data.set(2);
        }
        other.join().unwrap();
    }
    fn sender_finds(capacity: Option<usize>) {
        let data = Arc::new(Data::default());
        let theirs = data.clone();
        let (send, receiver) = of_capacity(capacity);
        let other = thread::spawn(move || {
            theirs.set(1);
            drop(receiver);
        });
        thread::yield_now();
        if send().is_err() {
            data.set(2);
        }
        other.join().unwrap();
    }
    const RECEIVE: fn(&mpsc::Receiver<()>) -> bool = |receiver| receiver.recv().is_err();
    const TRY: fn(&mpsc::Receiver<()>) -> bool =
        |receiver| receiver.try_recv() == Err(mpsc::TryRecvError::Disconnected);
    check_verdicts(
        &plain(),
        &[
            ("unbounded, recv", || receiver_finds(None, RECEIVE), RACE_AT_ONCE),
            ("unbounded, try_recv", || receiver_finds(None, TRY), RACE),
            ("bounded, recv", || receiver_finds(Some(1), RECEIVE), RACE_AT_ONCE),
            ("rendezvous, recv", || receiver_finds(Some(0), RECEIVE), None),
            ("rendezvous, try_recv", || receiver_finds(Some(0), TRY), None),
            ("unbounded, send", || sender_finds(None), None),
            ("bounded, send", || sender_finds(Some(1)), RACE_AT_ONCE),
            ("rendezvous, send", || sender_finds(Some(0)), None),
        ],
    );
}

/// Sends; the sender goes with it.
type AnySender = Box<dyn Fn() -> Result<(), mpsc::SendError<()>> + Send>;

fn of_capacity(capacity: Option<usize>) -> (AnySender, mpsc::Receiver<()>) {
    if let Some(capacity) = capacity {
        let (sender, receiver) = mpsc::sync_channel(capacity);
        (Box::new(move || sender.send(())), receiver)
    } else {
        let (sender, receiver) = mpsc::channel();
        (Box::new(move || sender.send(())), receiver)
    }
}

/// A rendezvous orders both ways.
#[test]
fn who_hands_over_comes_after_what_the_receiver_has_done() {
    fn handed_over(send: fn(&mpsc::SyncSender<()>) -> bool) {
        let data = Arc::new(Data::default());
        let theirs = data.clone();
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = thread::spawn(move || {
            theirs.set(1);
            let _ = receiver.recv();
        });
        thread::yield_now();
        if send(&sender) {
            assert_eq!(data.get(), 1);
        }
        drop(sender);
        other.join().unwrap();
    }
    check_verdicts(
        &plain(),
        &[
            ("send", || handed_over(|sender| sender.send(()).is_ok()), None),
            ("try_send", || handed_over(|sender| sender.try_send(()).is_ok()), None),
        ],
    );
}

/// Whoever waits until its message is taken comes after that, and not after what the receiver does next.
#[test]
fn a_later_receive_orders_nothing_for_an_earlier_sender() {
    let body = || {
        let shared = Arc::new((Data::default(), AtomicUsize::new(0)));
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = sender.clone();
        let theirs = shared.clone();
        let first = thread::spawn(move || {
            sender.send(()).unwrap();
            if theirs.1.load(Relaxed) == 1 {
                theirs.0.get();
            }
        });
        let second = thread::spawn(move || other.send(()).unwrap());
        receiver.recv().unwrap();
        shared.0.set(1);
        receiver.recv().unwrap();
        shared.1.store(1, Relaxed);
        first.join().unwrap();
        second.join().unwrap();
    };
    // The first sender finds the receiver waiting, so it has to be left before it looks.
    check_verdicts(&plain(), &[("two senders", body, Some((FailureKind::DataRace, 1)))]);
}

/// The two counts of an `Arc` are two variables: letting go of a `Weak` is seen by those who look at that one, and by an acquire load.
#[test]
fn letting_go_of_a_weak_is_seen_where_weaks_are_counted() {
    fn let_go(look: fn(&mut Arc<()>, Weak<()>, &AtomicUsize) -> bool) {
        let shared = Arc::new((Data::default(), AtomicUsize::new(0)));
        let mut owner = Arc::new(());
        let (mine, weak) = twice(Arc::downgrade(&owner));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.set(1);
            drop(weak);
            theirs.1.store(1, Relaxed);
        });
        thread::yield_now();
        if look(&mut owner, mine, &shared.1) {
            assert_eq!(shared.0.get(), 1);
        }
        other.join().unwrap();
    }
    check_verdicts(
        &plain(),
        &[
            ("Weak::weak_count", || let_go(|_, weak, _| weak.weak_count() == 1), None),
            ("Arc::weak_count", || let_go(|owner, _, _| Arc::weak_count(owner) == 1), RACE_AT_ONCE),
            (
                "get_mut",
                || {
                    let_go(|owner, weak, _| {
                        drop(weak);
                        Arc::get_mut(owner).is_some()
                    });
                },
                None,
            ),
            (
                "upgrade",
                || let_go(|_, weak, flag| weak.upgrade().is_some() && flag.load(Relaxed) == 1),
                RACE_AT_ONCE,
            ),
        ],
    );
}

/// Who asks for a count, or finds the value gone, has read by a relaxed load: with an acquire fence that orders, as `std` is written.
#[test]
fn counts_order_by_fences() {
    fn write_if(seen: bool, fences: bool, data: &Data) {
        if seen {
            if fences {
                fence(Acquire);
            }
            data.set(2);
        }
    }
    fn go(by_weak: bool, look: fn(&Arc<()>, &Weak<()>) -> bool, fences: bool) {
        let data = Arc::<Data>::default();
        let owner = Arc::new(());
        let weak = Arc::downgrade(&owner);
        let theirs = (data.clone(), owner.clone(), weak.clone());
        let other = thread::spawn(move || {
            let (data, owner, weak) = theirs;
            data.set(1);
            if by_weak {
                drop(weak);
                std::mem::forget(owner);
            } else {
                drop(owner);
                std::mem::forget(weak);
            }
        });
        write_if(look(&owner, &weak), fences, &data);
        other.join().unwrap();
    }
    fn gone(fences: bool, look: fn(&Weak<()>) -> bool) {
        let data = Arc::<Data>::default();
        let owner = Arc::new(());
        let weak = Arc::downgrade(&owner);
        let theirs = data.clone();
        let other = thread::spawn(move || {
            theirs.set(1);
            drop(owner);
        });
        write_if(look(&weak), fences, &data);
        other.join().unwrap();
    }
    fn published_by_a_clone(fences: bool) {
        let (data, theirs) = twice(Arc::<Data>::default());
        let (owner, their_owner) = twice(Arc::new(()));
        let other = thread::spawn(move || {
            theirs.set(1);
            if fences {
                fence(Release);
            }
            std::mem::forget(their_owner.clone());
            std::mem::forget(their_owner);
        });
        write_if(Arc::strong_count(&owner) == 3, true, &data);
        other.join().unwrap();
    }
    check_verdicts(
        &plain(),
        &[
            ("Arc::strong_count", || go(false, |a, _| Arc::strong_count(a) == 1, true), None),
            ("and no fence", || go(false, |a, _| Arc::strong_count(a) == 1, false), RACE),
            ("the owners, asked of a Weak", || go(false, |_, w| w.strong_count() == 1, true), None),
            ("Arc::weak_count", || go(true, |a, _| Arc::weak_count(a) == 1, true), None),
            ("a Weak's, and no fence", || go(true, |a, _| Arc::weak_count(a) == 1, false), RACE),
            ("Weak::strong_count", || gone(true, |weak| weak.strong_count() == 0), None),
            ("a count, and no fence", || gone(false, |weak| weak.strong_count() == 0), RACE),
            ("an upgrade that fails", || gone(true, |weak| weak.upgrade().is_none()), None),
            ("a clone after a release fence", || published_by_a_clone(true), None),
            ("a clone", || published_by_a_clone(false), RACE),
        ],
    );
}
