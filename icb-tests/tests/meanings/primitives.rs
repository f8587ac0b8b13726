//! What each primitive does when several threads use it: every execution up to the bound is as in std.

use crate::{check_verdicts, plain};
use icb_std::model::{Builder, FailureKind, Reduction};
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError};
use icb_std::sync::{Arc, Barrier, Once, OnceLock, RwLock, TryLockError, mpsc};
use icb_std::thread;
use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a body tells over all executions.
fn told<T: Eq + std::hash::Hash + Send + 'static>(
    builder: Builder,
    body: impl Fn() -> T + Send + Sync + 'static,
) -> HashSet<T> {
    let told = std::sync::Arc::new(std::sync::Mutex::new(HashSet::new()));
    let into = told.clone();
    let report = builder.explore(move || {
        let value = body();
        into.lock().unwrap().insert(value);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure.map(|f| f.to_string()));
    std::mem::take(&mut *told.lock().unwrap())
}

#[test]
fn park_takes_one_token() {
    let deadlock = Some((FailureKind::Deadlock, 0));
    fn park_after_unparks(unparks: usize, parks: usize) {
        let this = thread::current();
        (0..unparks).for_each(|_| this.unpark());
        (0..parks).for_each(|_| thread::park());
    }
    check_verdicts(
        &plain(),
        &[
            ("a token", || park_after_unparks(1, 1), None),
            ("no token", || park_after_unparks(0, 1), deadlock),
            ("tokens do not add up", || park_after_unparks(2, 2), deadlock),
            (
                "taken by a timed park",
                || {
                    thread::current().unpark();
                    thread::park_timeout(Duration::from_secs(1));
                    thread::park();
                },
                deadlock,
            ),
            (
                "unparked before its begin or after",
                || {
                    let parked = thread::spawn(thread::park);
                    parked.thread().unpark();
                    parked.join().unwrap();
                },
                None,
            ),
            (
                "unparked after its end",
                || {
                    let ended = thread::spawn(|| ());
                    let thread = ended.thread().clone();
                    ended.join().unwrap();
                    thread.unpark();
                },
                None,
            ),
            (
                "lost: unparked before it is the other's turn twice",
                || {
                    let parked = thread::spawn(|| {
                        thread::park();
                        thread::park();
                    });
                    parked.thread().unpark();
                    parked.thread().unpark();
                    parked.join().unwrap();
                },
                deadlock,
            ),
        ],
    );
}

#[test]
fn a_scope_waits_for_its_threads() {
    let report = plain().max_bound(2).explore(|| {
        let number = AtomicUsize::new(0);
        let sum = thread::scope(|scope| {
            let handle = scope.spawn(|| {
                scope.spawn(|| number.fetch_add(1, SeqCst));
                number.fetch_add(10, SeqCst)
            });
            scope.spawn(|| number.fetch_add(100, SeqCst));
            handle.join().unwrap()
        });
        assert!(sum < 102);
        assert_eq!(number.load(SeqCst), 111);
    });
    assert!(report.complete, "{:?}", report.failure);
    assert_eq!(report.bounds[0].max_threads, 4);
}

#[test]
fn a_barrier_has_one_leader_in_each_round() {
    let leaders = told(plain().max_bound(2), || {
        let (barrier, count) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
        let (theirs, their_count) = (barrier.clone(), count.clone());
        let other = thread::spawn(move || {
            std::array::from_fn::<bool, 2, _>(|round| {
                their_count.fetch_add(1, SeqCst);
                let leads = theirs.wait().is_leader();
                assert!(their_count.load(SeqCst) >= 2 * (round + 1), "too early");
                leads
            })
        });
        let mine: [bool; 2] = std::array::from_fn(|round| {
            count.fetch_add(1, SeqCst);
            let leads = barrier.wait().is_leader();
            assert!(count.load(SeqCst) >= 2 * (round + 1), "too early");
            leads
        });
        let theirs = other.join().unwrap();
        assert!((0..2).all(|round| mine[round] != theirs[round]), "one leader");
        mine
    });
    assert_eq!(leaders.len(), 4, "{leaders:?}");
}

#[test]
fn once_runs_once_and_others_wait_for_it() {
    let runners = told(plain(), || {
        let (once, value) = (Arc::new(Once::new()), Arc::new(AtomicUsize::new(0)));
        let (theirs, their_value) = (once.clone(), value.clone());
        let other = thread::spawn(move || {
            theirs.call_once(|| {
                assert_eq!(their_value.swap(1, SeqCst), 0, "twice");
                thread::yield_now();
                their_value.store(11, SeqCst);
            });
            assert!(theirs.is_completed());
            assert!(their_value.load(SeqCst) > 10, "not waited for");
        });
        once.call_once(|| {
            assert_eq!(value.swap(2, SeqCst), 0, "twice");
            value.store(12, SeqCst);
        });
        assert!(value.load(SeqCst) > 10, "not waited for");
        other.join().unwrap();
        value.load(SeqCst)
    });
    assert_eq!(runners, [11, 12].into());
    let values = told(plain(), || {
        let lock = Arc::new(OnceLock::new());
        let theirs = lock.clone();
        let other = thread::spawn(move || *theirs.get_or_init(|| 1));
        let set = lock.set(2).is_ok();
        assert_eq!(Some(&other.join().unwrap()), lock.get());
        assert_eq!(set, lock.get() == Some(&2));
        set
    });
    assert_eq!(values, [false, true].into());
}

#[test]
fn whoever_waits_for_a_value_waits_on_when_its_initialiser_panics() {
    fn waits(then: impl FnOnce(&OnceLock<i32>) + Send + 'static) {
        let lock = Arc::new(OnceLock::new());
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            assert!(catch_unwind(AssertUnwindSafe(|| *theirs.get_or_init(|| panic!("caught")))).is_err());
            then(&theirs);
        });
        assert_eq!(*lock.wait(), 5);
        other.join().unwrap();
    }
    check_verdicts(
        &plain(),
        &[
            ("nobody else makes one", || waits(|_| ()), Some((FailureKind::Deadlock, 0))),
            ("another one does", || waits(|lock| assert_eq!(*lock.get_or_init(|| 5), 5)), None),
        ],
    );
}

#[test]
fn an_unbounded_channel_keeps_the_order_of_each_sender() {
    let orders = told(plain().max_bound(2), || {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let thread = thread::spawn(move || (0..2).for_each(|i| other.send(10 + i).unwrap()));
        sender.send(20).unwrap();
        drop(sender);
        let received: Vec<i32> = receiver.iter().collect();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        thread.join().unwrap();
        received
    });
    assert_eq!(orders, [vec![10, 11, 20], vec![10, 20, 11], vec![20, 10, 11]].into());
}

#[test]
fn a_bounded_channel_blocks_when_it_is_full() {
    let last = told(plain().max_bound(2), || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let sent = Arc::new(AtomicUsize::new(0));
        let their_sent = sent.clone();
        let thread = thread::spawn(move || {
            for message in 0..3 {
                sender.send(message).unwrap();
                their_sent.fetch_add(1, SeqCst);
            }
            sender.try_send(3)
        });
        for message in 0..3 {
            assert!(sent.load(SeqCst) <= message + 1, "more than one ahead");
            assert_eq!(receiver.recv(), Ok(message));
        }
        thread.join().unwrap().map_err(|error| matches!(error, TrySendError::Full(3)))
    });
    // The last attempt comes before the last message is taken, or after.
    assert_eq!(last, [Ok(()), Err(true)].into());
}

#[test]
fn a_rendezvous_channel_hands_over() {
    let report = plain().max_bound(2).explore(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let taken = Arc::new(AtomicUsize::new(0));
        let their_taken = taken.clone();
        let thread = thread::spawn(move || {
            for message in 1..3 {
                their_taken.store(message, SeqCst);
                assert_eq!(receiver.recv(), Ok(message));
            }
        });
        for message in 1..3 {
            sender.send(message).unwrap();
            assert!(taken.load(SeqCst) >= message, "sent before anybody came for it");
        }
        thread.join().unwrap();
        assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
    });
    assert!(report.complete, "{:?}", report.failure);
}

#[test]
fn a_rendezvous_is_tried_in_vain_until_the_receiver_waits() {
    // Nothing comes between the spawn and the receive, and yet nobody may wait when it is tried.
    let tried = |timeout: Option<Duration>| {
        told(plain().max_bound(1), move || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let thread = thread::spawn(move || sender.try_send(1).is_ok());
            let received = match timeout {
                None => receiver.recv().is_ok(),
                Some(timeout) => receiver.recv_timeout(timeout).is_ok(),
            };
            assert_eq!(thread.join().unwrap(), received);
            received
        })
    };
    assert_eq!(tried(None), [false, true].into());
    assert_eq!(tried(Some(Duration::from_secs(1))), [false, true].into());
}

#[test]
fn a_channel_notices_that_the_other_end_is_gone() {
    let sent = told(plain(), || {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || drop(receiver));
        let sent = sender.send(1).is_ok();
        thread.join().unwrap();
        assert!(sender.send(2).is_err());
        sent
    });
    assert_eq!(sent, [false, true].into());
    let received = told(plain(), || {
        let (sender, receiver) = mpsc::channel::<()>();
        let thread = thread::spawn(move || drop(sender));
        let first = receiver.try_recv();
        let waited = receiver.recv_timeout(Duration::from_secs(1));
        thread.join().unwrap();
        assert!(receiver.recv().is_err());
        (first == Err(TryRecvError::Disconnected), waited == Err(RecvTimeoutError::Disconnected))
    });
    // Empty first, then gone; gone from the start; or still there when the time expires.
    assert_eq!(received, [(false, false), (false, true), (true, true)].into());
    // A sender that is blocked is told too.
    let blocked = told(plain(), || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || sender.send(1).is_ok());
        let received = receiver.try_recv().is_ok();
        drop(receiver);
        assert_eq!(thread.join().unwrap(), received);
        received
    });
    assert!(blocked.contains(&false), "{blocked:?}");
}

#[test]
fn a_read_write_lock_admits_many_readers_or_one_writer() {
    let seen = told(plain().max_bound(2), || {
        let lock = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let reader = lock.clone();
        let reading = thread::spawn(move || {
            let guard = reader.0.read().unwrap();
            let inside = reader.1.fetch_add(1, SeqCst);
            let before = *guard;
            thread::yield_now();
            assert_eq!(*guard, before);
            reader.1.fetch_sub(1, SeqCst);
            inside
        });
        let writer = lock.clone();
        let writing = thread::spawn(move || {
            let mut guard = writer.0.write().unwrap();
            assert_eq!(writer.1.load(SeqCst), 0, "a reader is inside");
            *guard = 1;
            thread::yield_now();
            *guard = 2;
        });
        let tried = match lock.0.try_read() {
            Ok(guard) => {
                let inside = lock.1.fetch_add(1, SeqCst);
                assert_ne!(*guard, 1);
                lock.1.fetch_sub(1, SeqCst);
                Some(inside)
            }
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(_)) => unreachable!("nobody panics"),
        };
        writing.join().unwrap();
        (tried, reading.join().unwrap())
    });
    // Locked by the writer; alone; together with the other reader, either being the second.
    for expected in [(None, 0), (Some(0), 0), (Some(0), 1), (Some(1), 0)] {
        assert!(seen.contains(&expected), "{expected:?} in {seen:?}");
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// Whoever comes to read while a writer waits for readers waits for the writer.
#[test]
fn reading_twice_around_a_waiting_writer_deadlocks() {
    let report = plain().max_bound(1).explore(|| {
        let lock = Arc::new(RwLock::new(0));
        let writer = lock.clone();
        let writing = thread::spawn(move || *writer.write().unwrap() = 1);
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        assert_eq!(*first, *second);
        drop((first, second));
        writing.join().unwrap();
    });
    let failure = report.failure.expect("the second read comes after the writer");
    assert_eq!((failure.kind, report.bounds.len()), (FailureKind::Deadlock, 2));
    assert!(
        failure.message.contains("T0 waits to read RwLock #3, held by T0, behind T1, who waits to write it")
            && failure.message.contains("T1 waits to write RwLock #3, held by T0"),
        "{}",
        failure.message
    );
    // What is tried is refused meanwhile.
    let tried = told(plain().max_bound(2), || {
        let lock = Arc::new(RwLock::new(0));
        let writer = lock.clone();
        let first = lock.read().unwrap();
        let writing = thread::spawn(move || *writer.write().unwrap() = 1);
        let second = lock.try_read().is_ok();
        drop(first);
        let third = *lock.read().unwrap();
        writing.join().unwrap();
        (second, third)
    });
    assert_eq!(tried, [(true, 0), (true, 1), (false, 1)].into());
}

/// Two readers that both want to write wait for each other.
#[test]
fn upgrading_a_read_lock_deadlocks() {
    fn upgrade(lock: &RwLock<usize>) {
        let guard = lock.read().unwrap();
        if *guard == 0 {
            let _write = lock.write().unwrap();
        }
        drop(guard);
    }
    check_verdicts(
        &plain(),
        &[("one is enough", || upgrade(&RwLock::new(0)), Some((FailureKind::Deadlock, 0)))],
    );
}

#[test]
fn a_handle_knows_when_its_thread_has_ended() {
    let seen = told(plain(), || {
        let handle = thread::spawn(|| 5);
        let finished = handle.is_finished();
        assert_eq!(handle.join().unwrap(), 5);
        finished
    });
    assert_eq!(seen, [false, true].into());
}

/// A program with a thread that is over, as far as others can see, before it is asked whether it has ended.
type Asks = fn() -> Vec<bool>;

#[test]
fn the_end_of_a_thread_may_be_still_to_come_for_who_does_not_know_of_it() {
    fn over<T>(wait: impl FnOnce(mpsc::Receiver<()>), ask: impl FnOnce(thread::JoinHandle<()>) -> T) -> T {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || drop(sender));
        wait(receiver);
        ask(handle)
    }
    fn hung_up(receiver: mpsc::Receiver<()>) {
        assert!(receiver.recv().is_err());
    }
    struct Tells(mpsc::Sender<()>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    icb_std::thread_local!(static TELLS: RefCell<Option<Tells>> = const { RefCell::new(None) });
    let table: &[(&str, Asks, &[&[bool]])] = &[
        ("once", || over(hung_up, |handle| vec![handle.is_finished()]), &[&[true], &[false]]),
        (
            "what was seen stays so",
            || over(hung_up, |handle| vec![handle.is_finished(), handle.is_finished()]),
            &[&[true, true], &[false, true], &[false, false]],
        ),
        (
            "who waits for the end sees it",
            || {
                over(hung_up, |handle| {
                    while !handle.is_finished() {
                        thread::yield_now();
                    }
                    vec![handle.is_finished()]
                })
            },
            &[&[true]],
        ),
        (
            "who asks without end sees it",
            || over(hung_up, |handle| vec![(0..5).any(|_| handle.is_finished())]),
            &[&[true]],
        ),
        (
            "told by who has seen it",
            || {
                over(hung_up, |handle| {
                    let seen = thread::scope(|scope| scope.spawn(|| handle.is_finished()).join().unwrap());
                    vec![seen, handle.is_finished()]
                })
            },
            &[&[true, true], &[false, true], &[false, false]],
        ),
        (
            "told by its thread-locals",
            || {
                let (sender, receiver) = mpsc::channel();
                let handle = thread::spawn(move || {
                    TELLS.with(|tells| *tells.borrow_mut() = Some(Tells(sender)));
                });
                receiver.recv().unwrap();
                vec![handle.is_finished()]
            },
            &[&[true]],
        ),
    ];
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        for &(name, program, expected) in table {
            let unbounded = Builder::new().unbounded().spurious(false).reduction(reduction);
            let expected = expected.iter().map(|seen| seen.to_vec()).collect();
            assert_eq!(told(unbounded, program), expected, "{name}, {reduction:?}");
        }
    }
    check_verdicts(
        &plain(),
        &[(
            "it costs a unit",
            || over(hung_up, |handle| assert!(handle.is_finished())),
            Some((FailureKind::Panic, 1)),
        )],
    );
}
