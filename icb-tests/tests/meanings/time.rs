//! `Builder::auto_advance`: time passes only when no thread can go on.

use crate::plain;
use icb_std::cell::UnsafeCell;
use icb_std::model::{Builder, FailureKind, Reduction};
use icb_std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Condvar, Mutex, mpsc};
use icb_std::time::Instant;
use icb_std::{hint, thread};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn patient() -> Builder {
    plain().auto_advance(true).max_bound(2)
}

/// The main thread pauses so, and wants the other to be through by then.
fn comes_after(pause: fn()) {
    let is_done = Arc::new(AtomicBool::new(false));
    let theirs = is_done.clone();
    let other = thread::spawn(move || theirs.store(true, SeqCst));
    pause();
    assert!(is_done.load(SeqCst));
    other.join().unwrap();
}

#[test]
fn a_sleep_is_long_enough() {
    let pauses: [(&str, fn()); 5] = [
        ("sleep", || thread::sleep(ms(1))),
        ("park_timeout", || thread::park_timeout(ms(1))),
        ("recv_timeout", || assert!(mpsc::channel::<()>().1.recv_timeout(ms(1)).is_err())),
        ("a clock with a pause", || {
            let begin = Instant::now();
            while begin.elapsed() < ms(1) {
                thread::yield_now();
            }
        }),
        ("a clock", || {
            let begin = Instant::now();
            while begin.elapsed() < ms(1) {}
        }),
    ];
    for (name, pause) in pauses {
        let is_channel = name == "recv_timeout";
        for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
            let report = patient().reduction(reduction).explore(move || comes_after(pause));
            assert!(report.failure.is_none() && report.complete, "{name}: {report}");
        }
        let failure = plain().explore(move || comes_after(pause)).failure;
        // A channel without a sender is not waited for.
        assert!(is_channel || failure.is_some_and(|f| f.kind == FailureKind::Panic), "{name}");
    }
}

/// What the threads that sleep so long do, in which orders.
fn orders(builder: &Builder, sleeps: &'static [u64]) -> BTreeSet<Vec<usize>> {
    let seen = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let found = seen.clone();
    let report = builder.clone().explore(move || {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let turn = Arc::new(AtomicUsize::new(0));
        let spawn = |(index, &sleep): (usize, &u64)| {
            let (order, turn) = (order.clone(), turn.clone());
            thread::spawn(move || {
                thread::sleep(ms(sleep));
                turn.fetch_add(1, SeqCst);
                order.lock().unwrap().push(index);
            })
        };
        let threads: Vec<_> = sleeps.iter().enumerate().map(spawn).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        found.lock().unwrap().insert(order.lock().unwrap().clone());
    });
    assert!(report.failure.is_none() && report.complete, "{report}");
    seen.lock().unwrap().clone()
}

#[test]
fn who_sleeps_less_is_first_and_who_sleeps_as_long_may_be() {
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let builder = patient().reduction(reduction);
        assert_eq!(orders(&builder, &[20, 10]), [vec![1, 0]].into(), "{reduction:?}");
        assert_eq!(orders(&builder, &[10, 20]), [vec![0, 1]].into(), "{reduction:?}");
        assert_eq!(orders(&builder, &[10, 10]), [vec![0, 1], vec![1, 0]].into(), "{reduction:?}");
        let three = orders(&builder, &[10, 30, 10]);
        assert_eq!(three, [vec![0, 2, 1], vec![2, 0, 1]].into(), "{reduction:?}");
        assert!(orders(&plain().reduction(reduction), &[20, 10]).len() == 2, "{reduction:?}");
    }
}

#[test]
fn a_timeout_is_over_if_nobody_comes_in_time() {
    let receives = |sleep: u64, limit: u64| {
        move || {
            let (sender, receiver) = mpsc::channel();
            let other = thread::spawn(move || {
                thread::sleep(ms(sleep));
                _ = sender.send(1);
            });
            assert_eq!(receiver.recv_timeout(ms(limit)).is_ok(), sleep < limit);
            other.join().unwrap();
        }
    };
    for (sleep, limit) in [(0, 1), (5, 10), (10, 5)] {
        let report = patient().explore(receives(sleep, limit));
        assert!(report.failure.is_none() && report.complete, "{sleep} {limit}: {report}");
    }
    // Both at once: either.
    assert!(patient().explore(receives(10, 10)).failure.is_some());
    let waits = |sleep: u64, limit: u64| {
        move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                thread::sleep(ms(sleep));
                *theirs.0.lock().unwrap() = true;
                theirs.1.notify_one();
            });
            let guard = shared.0.lock().unwrap();
            let (guard, result) = shared.1.wait_timeout_while(guard, ms(limit), |done| !*done).unwrap();
            assert_eq!(result.timed_out(), sleep > limit);
            drop(guard);
            other.join().unwrap();
        }
    };
    for (sleep, limit) in [(5, 10), (10, 5)] {
        let report = patient().explore(waits(sleep, limit));
        assert!(report.failure.is_none() && report.complete, "{sleep} {limit}: {report}");
    }
}

/// Whoever waits for ten milliseconds is told after eight, in vain. Its time is over all the same before fifteen are.
#[test]
fn who_is_woken_in_vain_waits_for_what_is_left() {
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let report = patient().reduction(reduction).explore(|| {
            let (shared, is_over) =
                (Arc::new((Mutex::new(()), Condvar::new())), Arc::new(AtomicBool::new(false)));
            let (theirs, flag) = (shared.clone(), is_over.clone());
            let waiting = thread::spawn(move || {
                let guard = theirs.0.lock().unwrap();
                assert!(theirs.1.wait_timeout_while(guard, ms(10), |()| true).unwrap().1.timed_out());
                flag.store(true, SeqCst);
            });
            thread::sleep(ms(8));
            shared.1.notify_one();
            thread::sleep(ms(7));
            assert!(is_over.load(SeqCst));
            waiting.join().unwrap();
        });
        assert!(report.failure.is_none() && report.proved_bound() >= Some(2), "{reduction:?}: {report}");
    }
}

/// Looks so often, with a pause each time, whether the flag is set: a backoff.
fn looks(flag: &AtomicBool, rounds: usize) -> bool {
    (0..rounds).any(|_| {
        hint::spin_loop();
        flag.load(SeqCst)
    })
}

#[test]
fn who_counts_some_rounds_before_a_wait_comes_to_its_end_before_a_longer_sleep_is_over() {
    let program = |rounds: usize, threads: usize| {
        move || {
            let flags: Arc<Vec<AtomicBool>> =
                Arc::new((0..=threads).map(|_| AtomicBool::new(false)).collect());
            let spawn = |index: usize| {
                let flags = flags.clone();
                thread::spawn(move || {
                    assert!(!looks(&flags[index], rounds));
                    thread::park_timeout(ms(5));
                    flags[index].store(true, SeqCst);
                })
            };
            let others: Vec<_> = (1..=threads).map(spawn).collect();
            thread::sleep(ms(20));
            assert!(flags[1..].iter().all(|flag| flag.load(SeqCst)));
            others.into_iter().for_each(|thread| thread.join().unwrap());
        }
    };
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let builder = patient().max_bound(1).reduction(reduction);
        for (rounds, threads) in [(3, 1), (100, 1), (100, 2)] {
            let report = builder.explore(program(rounds, threads));
            assert!(report.failure.is_none(), "{reduction:?} {rounds} {threads}: {report}");
            assert!(report.proved_bound() >= Some(1), "{reduction:?} {rounds}: {report}");
        }
    }
}

/// A loop that goes on counting waits for the sleeper all the same, and does not use up the steps however often somebody sleeps.
#[test]
fn who_counts_for_ever_is_waited_for_by_nobody() {
    let report = patient().max_bound(1).max_steps(2_000).explore(|| {
        let is_done = Arc::new(AtomicBool::new(false));
        let theirs = is_done.clone();
        let other = thread::spawn(move || {
            (0..60).for_each(|_| thread::sleep(ms(1)));
            theirs.store(true, SeqCst);
        });
        assert!(looks(&is_done, usize::MAX));
        other.join().unwrap();
    });
    assert!(report.failure.is_none() && report.proved_bound() >= Some(1), "{report}");
}

/// The same where it wakes for no reason, too, and what it waits for comes after its time.
#[test]
fn a_wait_that_is_ended_in_vain_is_over_in_time_all_the_same() {
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let builder = patient().spurious(true).reduction(reduction);
        let report = builder.explore(|| {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                thread::sleep(ms(3));
                theirs.1.notify_all();
                thread::sleep(ms(4));
                *theirs.0.lock().unwrap() = true;
                theirs.1.notify_all();
            });
            let guard = shared.0.lock().unwrap();
            let (guard, result) = shared.1.wait_timeout_while(guard, ms(5), |is_done| !*is_done).unwrap();
            assert!(result.timed_out() && !*guard);
            drop(guard);
            other.join().unwrap();
        });
        assert!(report.failure.is_none() && report.complete, "{report}");
    }
}

#[test]
fn who_looks_from_time_to_time_sees_the_change() {
    let looks: [(&str, fn()); 3] = [
        ("sleep", || thread::sleep(ms(1))),
        ("yield_now", thread::yield_now),
        ("spin_loop", hint::spin_loop),
    ];
    for (name, pause) in looks {
        let report = patient().explore(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = flag.clone();
            let other = thread::spawn(move || {
                thread::sleep(ms(5));
                theirs.store(true, SeqCst);
            });
            while !flag.load(SeqCst) {
                pause();
            }
            other.join().unwrap();
        });
        assert!(report.failure.is_none() && report.complete, "{name}: {report}");
    }
}

/// One hands things over and sleeps in between, the other takes them and pauses; each of them goes round and changes something each time. While it
/// sleeps it keeps nobody from anything, so what it has changed is news.
#[test]
fn who_goes_round_with_sleeps_is_waited_for_by_nobody() {
    let pauses: [(&str, fn()); 3] = [
        ("yield_now", thread::yield_now),
        ("spin_loop", hint::spin_loop),
        ("park_timeout", || thread::park_timeout(ms(1))),
    ];
    for (name, pause) in pauses {
        for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
            let report = patient().max_bound(1).reduction(reduction).explore(move || {
                let (slot, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
                let theirs = (slot.clone(), taken.clone());
                let other = thread::spawn(move || {
                    let (slot, taken) = theirs;
                    for _ in 0..8 {
                        while !slot.load(SeqCst) {
                            pause();
                        }
                        taken.fetch_add(1, SeqCst);
                        slot.store(false, SeqCst);
                    }
                });
                for round in 0..8 {
                    assert_eq!(taken.load(SeqCst), round);
                    assert!(!slot.swap(true, SeqCst));
                    thread::sleep(ms(10));
                }
                other.join().unwrap();
            });
            assert!(report.failure.is_none(), "{name} {reduction:?}: {report}");
        }
    }
}

/// A sleep is long, and orders nothing in the sense of the memory model.
#[test]
fn a_data_race_stays_one() {
    struct Shared(UnsafeCell<i32>);
    // SAFETY: it is not; the race is what is tested.
    unsafe impl Sync for Shared {}
    let report = patient().explore(|| {
        let shared = Arc::new(Shared(UnsafeCell::new(0)));
        let theirs = shared.clone();
        // SAFETY: the pointer is valid; nothing orders the accesses, which is what is tested.
        let other = thread::spawn(move || theirs.0.with_mut(|value| unsafe { *value = 1 }));
        thread::sleep(ms(10));
        // SAFETY: as above.
        shared.0.with(|value| unsafe { assert_eq!(*value, 1) });
        other.join().unwrap();
    });
    assert_eq!(report.failure.unwrap().kind, FailureKind::DataRace);
}

/// What is drawn from the clock is the same in every process.
#[test]
fn a_moment_has_the_same_hash_in_every_process() {
    fn hash(value: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }
    let report = plain().explore(|| {
        let first = Instant::now();
        assert_eq!(hash(first), hash((true, Duration::ZERO)));
        thread::sleep(ms(3));
        let later = Instant::now();
        assert_eq!(hash(later), hash((true, later - first)));
        assert_eq!(hash(first.checked_sub(ms(2)).unwrap()), hash((false, ms(2))));
    });
    assert!(report.failure.is_none() && report.complete, "{report}");
}
