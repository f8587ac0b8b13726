//! What `std` does where its documentation leaves it open, and what was once missing: `tests/reality` has seen it happen.

use crate::{check_verdicts, plain};
use icb_std::model::{Builder, FailureKind};
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex, RwLock, RwLockWriteGuard, mpsc};
use icb_std::{thread, thread_local};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::DerefMut;
use std::time::Duration;

/// What a body tells over all executions, which pass.
fn told<T: Ord + Send + 'static>(
    builder: Builder,
    body: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let told = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let into = told.clone();
    let report = builder.explore(move || {
        let value = body();
        into.lock().unwrap().insert(value);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure.map(|f| f.to_string()));
    std::mem::take(&mut *told.lock().unwrap())
}

/// Somebody unparks a thread that receives, and then parks.
fn receives_and_parks(send: fn(&mpsc::SyncSender<u32>, &thread::Thread), capacity: usize) {
    let (sender, receiver) = mpsc::sync_channel(capacity);
    let parked = thread::spawn(move || {
        assert_eq!(receiver.recv(), Ok(1));
        thread::park();
    });
    send(&sender, parked.thread());
    parked.join().unwrap();
}

/// `std` parks a thread that waits for a channel, or at the end of a scope, and takes any token that it finds meanwhile.
#[test]
fn a_token_is_lost_in_what_parks() {
    let deadlock = Some((FailureKind::Deadlock, 0));
    let token_first: fn(&mpsc::SyncSender<u32>, &thread::Thread) = |sender, thread| {
        thread.unpark();
        sender.send(1).unwrap();
    };
    let message_first: fn(&mpsc::SyncSender<u32>, &thread::Thread) = |sender, thread| {
        sender.send(1).unwrap();
        thread.unpark();
    };
    fn own_token_and(what: fn()) {
        thread::current().unpark();
        what();
        thread::park();
    }
    for send in [token_first, message_first] {
        for capacity in [0, 1] {
            let report = plain().explore(move || receives_and_parks(send, capacity));
            // Whoever is offered a message when he comes does not wait.
            let bound = u32::from(capacity == 0);
            assert_eq!(crate::verdict(&report), Some((FailureKind::Deadlock, bound)), "{capacity}");
        }
    }
    check_verdicts(
        &plain(),
        &[
            (
                "in a scope",
                || {
                    let main = thread::current();
                    thread::scope(|scope| {
                        scope.spawn(move || main.unpark());
                    });
                    thread::park();
                },
                deadlock,
            ),
            (
                "before a scope",
                || own_token_and(|| thread::scope(|scope| drop(scope.spawn(|| ())))),
                deadlock,
            ),
            ("a scope that nobody is in", || own_token_and(|| thread::scope(|_| ())), None),
            (
                "a scope that nobody is in any more",
                || own_token_and(|| thread::scope(|scope| scope.spawn(|| ()).join().unwrap())),
                None,
            ),
            (
                "before it waits for a place",
                || {
                    let (sender, receiver) = mpsc::sync_channel(1);
                    let parked = thread::spawn(move || {
                        (0..2).for_each(|message| sender.send(message).unwrap());
                        thread::park();
                    });
                    parked.thread().unpark();
                    assert_eq!(receiver.iter().take(2).sum::<i32>(), 1);
                    parked.join().unwrap();
                },
                deadlock,
            ),
            (
                "before it finds nobody who takes what there was room for",
                || {
                    let (sender, receiver) = mpsc::sync_channel(1);
                    let parked = thread::spawn(move || {
                        let _ = sender.send(1);
                        thread::park();
                    });
                    parked.thread().unpark();
                    drop(receiver);
                    parked.join().unwrap();
                },
                None,
            ),
            (
                "before it takes a place that was free from the beginning",
                || {
                    let (sender, receiver) = mpsc::sync_channel(2);
                    let me = thread::current();
                    let other = thread::spawn(move || {
                        me.unpark();
                        assert_eq!(receiver.iter().take(2).sum::<i32>(), 1);
                    });
                    (0..2).for_each(|message| sender.send(message).unwrap());
                    thread::park();
                    other.join().unwrap();
                },
                None,
            ),
            (
                "before its time is over",
                || {
                    own_token_and(|| {
                        let (_sender, receiver) = mpsc::channel::<()>();
                        assert!(receiver.recv_timeout(Duration::from_secs(1)).is_err());
                    });
                },
                deadlock,
            ),
            (
                "no time",
                || {
                    own_token_and(|| {
                        let (_sender, receiver) = mpsc::channel::<()>();
                        assert!(receiver.recv_timeout(Duration::ZERO).is_err());
                    });
                },
                None,
            ),
            (
                "the message is there",
                || {
                    own_token_and(|| {
                        let (sender, receiver) = mpsc::channel();
                        thread::spawn(move || sender.send(1).unwrap()).join().unwrap();
                        assert_eq!(receiver.recv(), Ok(1));
                    });
                },
                None,
            ),
            (
                "unparked after it has received",
                || {
                    let (sender, receiver) = mpsc::channel();
                    let (answer, answered) = mpsc::channel();
                    let parked = thread::spawn(move || {
                        assert_eq!(receiver.recv(), Ok(1));
                        answer.send(2).unwrap();
                        thread::park();
                    });
                    sender.send(1).unwrap();
                    assert_eq!(answered.recv(), Ok(2));
                    parked.thread().unpark();
                    parked.join().unwrap();
                },
                None,
            ),
        ],
    );
}

/// A timed wait is over although its mutex is not free: a notification comes too late for it.
#[test]
fn a_notification_comes_too_late() {
    let body = |all: bool, waiters: usize| {
        move || {
            let pair = Arc::new((Mutex::new(0), Condvar::new()));
            let threads: Vec<_> = (0..waiters)
                .map(|_| {
                    let pair = pair.clone();
                    thread::spawn(move || {
                        let mut guard = pair.0.lock().unwrap();
                        *guard += 1;
                        let (guard, result) = pair.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
                        (*guard >= 10, result.timed_out())
                    })
                })
                .collect();
            let mut guard = pair.0.lock().unwrap();
            while *guard < waiters {
                drop(guard);
                thread::yield_now();
                guard = pair.0.lock().unwrap();
            }
            *guard += 10;
            if all {
                pair.1.notify_all()
            } else {
                pair.1.notify_one()
            }
            drop(guard);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        }
    };
    let (in_time, late) = ((true, false), (true, true));
    for all in [false, true] {
        let seen = told(plain().max_bound(0), body(all, 1));
        assert!(seen.contains(&vec![in_time]) && !seen.contains(&vec![late]), "{seen:?}");
        let seen = told(plain().max_bound(1), body(all, 1));
        assert!(seen.contains(&vec![late]), "{seen:?}");
    }
    // Who is late leaves nothing for others only if they are late as well.
    let seen = told(plain().max_bound(2), body(true, 2));
    for outcome in [[in_time, in_time], [in_time, late], [late, in_time], [late, late]] {
        assert!(seen.contains(outcome.as_slice()), "{outcome:?} in {seen:?}");
    }
}

/// Adds a number when it goes.
struct Adds(Arc<AtomicUsize>);

impl Drop for Adds {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A scope, and the question whether a thread has finished, do not wait for what its thread-locals do; a join does.
#[test]
fn thread_locals_go_after_the_end_of_a_scope() {
    thread_local!(static LOCAL: RefCell<Option<Adds>> = const { RefCell::new(None) });
    fn with(end: fn(Arc<AtomicUsize>) -> bool) -> BTreeSet<(bool, usize)> {
        told(plain().max_bound(2), move || {
            let count = Arc::new(AtomicUsize::new(0));
            let ended = end(count.clone());
            (ended, count.load(SeqCst))
        })
    }
    let scope = with(|count| {
        thread::scope(|scope| drop(scope.spawn(move || LOCAL.set(Some(Adds(count))))));
        true
    });
    assert_eq!(scope, [(true, 0), (true, 1)].into());
    let joined =
        with(|count| thread::scope(|scope| scope.spawn(move || LOCAL.set(Some(Adds(count)))).join().is_ok()));
    assert_eq!(joined, [(true, 1)].into());
    let asked = with(|count| thread::spawn(move || LOCAL.set(Some(Adds(count)))).is_finished());
    assert_eq!(asked, [(false, 0), (false, 1), (true, 0), (true, 1)].into());
}

#[test]
fn a_forgotten_handle_keeps_a_scope_from_ending() {
    check_verdicts(
        &plain(),
        &[
            (
                "forgotten",
                || thread::scope(|scope| std::mem::forget(scope.spawn(|| ()))),
                Some((FailureKind::Deadlock, 0)),
            ),
            ("dropped", || thread::scope(|scope| drop(scope.spawn(|| ()))), None),
            (
                "given to another one",
                || {
                    thread::scope(|scope| {
                        let handle = scope.spawn(|| ());
                        scope.spawn(move || drop(handle));
                    });
                },
                None,
            ),
        ],
    );
}

/// The result of a thread goes with its handle, if the thread has ended before.
#[test]
fn a_handle_drops_the_result_of_a_thread_that_has_ended() {
    struct Tells(Arc<Mutex<Option<thread::ThreadId>>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(thread::current().id());
        }
    }
    let by_handle = told(plain().max_bound(1), || {
        let by = Arc::new(Mutex::new(None));
        let theirs = by.clone();
        drop(thread::spawn(move || Tells(theirs)));
        let by = *by.lock().unwrap();
        by.map(|by| by == thread::current().id())
    });
    assert_eq!(by_handle, [None, Some(false), Some(true)].into());
}

/// Who has waited to write leaves a mark that keeps others from reading, until its own reading is over.
#[test]
fn readers_wait_behind_a_writer_that_has_waited_and_reads() {
    fn reads_beside(lock: &Arc<RwLock<()>>) {
        let guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
        let other = lock.clone();
        thread::spawn(move || drop(other.read().unwrap())).join().unwrap();
        drop(guard);
    }
    check_verdicts(
        &plain(),
        &[
            ("nobody was there", || reads_beside(&Arc::new(RwLock::new(()))), None),
            (
                "nobody is there any more",
                || {
                    let lock = Arc::new(RwLock::new(()));
                    let other = lock.clone();
                    thread::spawn(move || drop(other.write().unwrap())).join().unwrap();
                    reads_beside(&lock);
                },
                None,
            ),
            (
                "it has waited",
                || {
                    let lock = Arc::new(RwLock::new(()));
                    let other = lock.clone();
                    let writer = thread::spawn(move || drop(other.write().unwrap()));
                    reads_beside(&lock);
                    writer.join().unwrap();
                },
                Some((FailureKind::Deadlock, 0)),
            ),
            (
                "it has waited for somebody who was stopped",
                || {
                    let lock = Arc::new(RwLock::new(()));
                    let other = lock.clone();
                    let writer = thread::spawn(move || drop(other.write().unwrap()));
                    thread::spawn(|| ()).join().unwrap();
                    let guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
                    drop(lock.read().unwrap());
                    drop(guard);
                    writer.join().unwrap();
                },
                Some((FailureKind::Deadlock, 1)),
            ),
            (
                "another one has come while it wrote",
                || {
                    let lock = Arc::new(RwLock::new(()));
                    let other = lock.clone();
                    let guard = lock.write().unwrap();
                    let writer = thread::spawn(move || drop(other.write().unwrap()));
                    thread::spawn(|| ()).join().unwrap();
                    let guard = RwLockWriteGuard::downgrade(guard);
                    drop(lock.read().unwrap());
                    drop(guard);
                    writer.join().unwrap();
                },
                Some((FailureKind::Deadlock, 0)),
            ),
            (
                "it has waited, and nobody needs to read",
                || {
                    let lock = Arc::new(RwLock::new(0));
                    let other = lock.clone();
                    let writer = thread::spawn(move || drop(other.write().unwrap()));
                    let guard = RwLockWriteGuard::downgrade(lock.write().unwrap());
                    let _ = lock.try_read().is_ok();
                    drop(guard);
                    assert_eq!(*lock.read().unwrap(), 0);
                    writer.join().unwrap();
                },
                None,
            ),
        ],
    );
}

/// What `std` has unparked a thread with while it waited for others may be left over.
#[test]
fn a_token_is_left_by_what_parks() {
    fn in_a_scope() {
        thread::scope(|scope| drop(scope.spawn(|| ())));
    }
    let report = Builder::new().max_bound(1).explore(|| {
        in_a_scope();
        thread::park();
    });
    // Nothing is left first of all.
    assert_eq!(crate::verdict(&report), Some((FailureKind::Deadlock, 0)));
    let seen = told(Builder::new().max_bound(1), || {
        in_a_scope();
        let (main, unparked) = (thread::current(), Arc::new(AtomicUsize::new(0)));
        let theirs = unparked.clone();
        let other = thread::spawn(move || {
            theirs.store(1, SeqCst);
            main.unpark();
        });
        thread::park();
        let seen = unparked.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!(seen, [0, 1].into());
}

/// Where the last sender and the receiver of an unbounded channel go at the same time, what was not received is dropped by the second of them, and the receiver may be gone
/// before that.
#[test]
fn the_last_sender_may_drop_what_was_not_received() {
    struct Told(Arc<AtomicUsize>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    fn dropped<S: Send + 'static>(
        channel: (S, mpsc::Receiver<Told>),
        send: fn(&S, Told) -> bool,
    ) -> (usize, usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = channel;
        assert!(send(&sender, Told(count.clone())));
        let other = thread::spawn(move || drop(sender));
        drop(receiver);
        let at_once = count.load(SeqCst);
        other.join().unwrap();
        (at_once, count.load(SeqCst))
    }
    let unbounded = told(Builder::new(), || dropped(mpsc::channel(), |s, m| s.send(m).is_ok()));
    assert_eq!(unbounded, BTreeSet::from([(0, 1), (1, 1)]));
    let bounded = told(Builder::new(), || dropped(mpsc::sync_channel(1), |s, m| s.send(m).is_ok()));
    assert_eq!(bounded, BTreeSet::from([(1, 1)]));
}

/// `Debug` of a lock looks at the value under the lock, and at the poison when it has let go of it.
#[test]
fn a_lock_may_be_poisoned_while_it_is_printed() {
    fn printed<L: Debug + Send + Sync + 'static>(new: fn() -> L, poison: fn(&L)) -> BTreeSet<String> {
        told(Builder::new().unbounded(), move || {
            let lock = Arc::new(new());
            let theirs = lock.clone();
            let other =
                thread::spawn(move || assert!(thread::spawn(move || poison(&theirs)).join().is_err()));
            let printed = format!("{lock:?}");
            other.join().unwrap();
            printed
        })
    }
    fn write_and_panic(mut guard: impl DerefMut<Target = i32>) {
        *guard = 1;
        thread::yield_now();
        panic!("poisons it");
    }
    let mutex = printed(|| Mutex::new(0), |lock| write_and_panic(lock.lock().unwrap()));
    let rwlock = printed(|| RwLock::new(0), |lock| write_and_panic(lock.write().unwrap()));
    let all = |data: &[(&str, bool)], name: &str| -> BTreeSet<String> {
        data.iter()
            .map(|(data, poisoned)| format!("{name} {{ data: {data}, poisoned: {poisoned}, .. }}"))
            .collect()
    };
    let looks = [("0", false), ("0", true), ("1", true), ("LOCKED", false), ("LOCKED", true)];
    let looks_of = |locked: &'static str| looks.map(|(d, p)| (if d == "LOCKED" { locked } else { d }, p));
    assert_eq!(mutex, all(&looks_of("\"<locked>\""), "Mutex"));
    assert_eq!(rwlock, all(&looks_of("<locked>"), "RwLock"));
}

/// That a lock is poisoned is a change, also where the thread has written nothing.
#[test]
fn whoever_waits_for_the_poison_sees_it() {
    fn sees<L: Send + Sync + 'static>(new: fn() -> L, poison: fn(&L), is_poisoned: fn(&L) -> bool) {
        let seen = told(Builder::new(), move || {
            let lock = Arc::new(new());
            let theirs = lock.clone();
            let other = thread::spawn(move || poison(&theirs));
            while !is_poisoned(&lock) {
                thread::yield_now();
            }
            assert!(other.join().is_err());
        });
        assert_eq!(seen.len(), 1);
    }
    fn hold_and_panic<G>(_guard: G) {
        panic!("poisons it");
    }
    sees(|| Mutex::new(()), |lock| hold_and_panic(lock.lock().unwrap()), Mutex::is_poisoned);
    sees(|| RwLock::new(()), |lock| hold_and_panic(lock.write().unwrap()), RwLock::is_poisoned);
}

/// That a receiver waits no longer decides what a `try_send` to a rendezvous finds.
#[test]
fn a_receiver_that_gives_up_is_seen() {
    fn body() -> (bool, bool, bool) {
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = thread::spawn(move || {
            let first = receiver.recv_timeout(Duration::from_secs(1)).is_ok();
            (first, receiver.recv_timeout(Duration::from_secs(1)).is_ok())
        });
        let sent = sender.try_send(()).is_ok();
        let (first, second) = other.join().unwrap();
        (sent, first, second)
    }
    let reduced = told(Builder::new(), body);
    assert_eq!(reduced, told(plain(), body));
    assert_eq!(reduced, BTreeSet::from([(false, false, false), (true, true, false), (true, false, true)]));
}
