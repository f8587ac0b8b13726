//! What costs a unit of the bound, and what is free.

use crate::{check_verdicts, executions, plain, verdict};
use icb_std::hint::spin_loop;
use icb_std::model::{Builder, FailureKind, Reduction, Strategy, choose};
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Condvar, Mutex, mpsc};
use icb_std::thread;
use std::collections::BTreeSet;
// Counts of the mirrored `Arc` are steps; here only what is being counted is to be one.
use std::sync::Arc;
use std::time::Duration;

/// Steps of the main thread: begin, spawn, pause, store. Of the other: begin, store.
fn pause_between(pause: fn()) {
    let number = Arc::new(AtomicUsize::new(0));
    let theirs = number.clone();
    drop(thread::spawn(move || theirs.store(2, SeqCst)));
    pause();
    number.store(1, SeqCst);
}

#[test]
fn leaving_a_thread_that_could_go_on_is_a_preemption_unless_it_yields() {
    type Row = (&'static str, fn(), [u64; 4]);
    let table: [Row; 5] = [
        // After its spawn the main thread may be preempted, and so may the other before its store.
        ("nothing", || pause_between(|| ()), [1, 1, 1, 0]),
        // Left after the pause, for free; left before it, and the pause gives back control, or does not.
        ("yield_now", || pause_between(thread::yield_now), [2, 2, 2, 0]),
        ("spin_loop", || pause_between(spin_loop), [2, 2, 2, 0]),
        ("sleep", || pause_between(|| thread::sleep(Duration::from_secs(3600))), [2, 2, 2, 0]),
        // A fence touches nothing that anybody else could see: it is no scheduling point.
        ("fence", || pause_between(|| icb_std::sync::atomic::fence(SeqCst)), [1, 1, 1, 0]),
    ];
    for (name, body, expected) in table {
        let report = plain().explore(body);
        assert_eq!(executions(&report), expected, "{name}");
        assert!(report.complete && report.exhausted(), "{name}");
    }
}

/// Whoever hands a message to a receiver that waits is not blocked by that, and one that comes first is.
#[test]
fn a_rendezvous_blocks_who_comes_first() {
    /// The receiver comes first; `stores`: it stores when it has the message, and the sender looks when it has gone on.
    fn hands_over(stores: bool) {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = thread::spawn(move || {
            sender.send(1).unwrap();
            assert_eq!(theirs.load(SeqCst), usize::from(stores), "seen");
        });
        receiver.recv().unwrap();
        number.store(1, SeqCst);
        other.join().unwrap();
    }
    /// The sender comes first.
    fn takes(stores: bool) {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = thread::spawn(move || {
            receiver.recv().unwrap();
            assert_eq!(theirs.load(SeqCst), usize::from(stores), "seen");
        });
        sender.send(1).unwrap();
        number.store(1, SeqCst);
        other.join().unwrap();
    }
    let panic = |bound| Some((FailureKind::Panic, bound));
    check_verdicts(
        &plain(),
        &[
            ("the sender has gone on", || hands_over(true), panic(0)),
            ("the receiver has", || hands_over(false), panic(1)),
            ("the receiver has, although it came last", || takes(true), panic(0)),
            ("the sender has, although it came first", || takes(false), panic(1)),
        ],
    );
}

#[test]
fn a_thread_that_is_kept_from_ending_is_for_nothing_afterwards() {
    fn asks(times: usize) {
        let (sender, receiver) = mpsc::channel::<()>();
        let handle = thread::spawn(move || drop(sender));
        assert!(receiver.recv().is_err());
        assert!((0..times).any(|_| handle.is_finished()), "never seen");
    }
    let late = Some((FailureKind::Panic, 1));
    check_verdicts(
        &plain(),
        &[
            ("once", || asks(1), late),
            ("twice", || asks(2), late),
            ("three times", || asks(3), late),
            ("too often", || asks(4), None),
        ],
    );
}

#[test]
fn switching_at_a_blocked_or_ended_thread_is_free() {
    let report = plain().explore(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let number = number.clone();
                thread::spawn(move || number.fetch_add(1, SeqCst))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    // The main thread joins them in order. When the one that it waits for has ended it may go on, or another one
    // that has not ended: 7 executions in which the first one is first, 3 each for the other two.
    assert_eq!(report.bounds[0].executions, 13);
    assert_eq!(report.bounds[0].states, 6);
}

fn ready() -> Arc<(Mutex<bool>, Condvar)> {
    Arc::default()
}

/// A thread waits until it is ready, and does not expect to be woken before.
fn wait_until_ready(wait: fn(&(Mutex<bool>, Condvar))) {
    let shared = ready();
    let theirs = shared.clone();
    let waiter = thread::spawn(move || wait(&theirs));
    thread::yield_now();
    *shared.0.lock().unwrap() = true;
    shared.1.notify_all();
    waiter.join().unwrap();
}

fn wait_with_timeout(shared: &(Mutex<bool>, Condvar)) {
    let mut guard = shared.0.lock().unwrap();
    while !*guard {
        let (again, result) = shared.1.wait_timeout(guard, Duration::from_millis(1)).unwrap();
        assert!(!result.timed_out(), "timed out");
        guard = again;
    }
}

fn wait_once_with_timeout(shared: &(Mutex<bool>, Condvar)) {
    let guard = shared.0.lock().unwrap();
    if !*guard {
        let (guard, result) = shared.1.wait_timeout(guard, Duration::from_millis(1)).unwrap();
        assert!(*guard || result.timed_out(), "woken for nothing");
    }
}

fn wait_once(shared: &(Mutex<bool>, Condvar)) {
    let mut guard = shared.0.lock().unwrap();
    if !*guard {
        guard = shared.1.wait(guard).unwrap();
        assert!(*guard, "woken for nothing");
    }
}

fn receive_with_timeout() {
    let (sender, receiver) = mpsc::channel();
    let waiter = thread::spawn(move || receiver.recv_timeout(Duration::from_millis(1)).expect("timed out"));
    thread::yield_now();
    sender.send(1).unwrap();
    waiter.join().unwrap();
}

fn park_with_timeout() {
    let number = Arc::new(AtomicUsize::new(0));
    let theirs = number.clone();
    let waiter = thread::spawn(move || {
        thread::park_timeout(Duration::from_millis(1));
        assert_eq!(theirs.load(SeqCst), 1, "timed out");
    });
    thread::yield_now();
    number.store(1, SeqCst);
    waiter.thread().unpark();
    waiter.join().unwrap();
}

#[test]
fn a_wait_that_expires_although_others_could_run_costs_one() {
    let panics = Some((FailureKind::Panic, 1));
    check_verdicts(
        &plain(),
        &[
            ("wait_timeout", || wait_until_ready(wait_with_timeout), panics),
            ("recv_timeout", receive_with_timeout, panics),
            ("park_timeout", park_with_timeout, panics),
        ],
    );
}

#[test]
fn a_wait_that_expires_when_nothing_else_can_run_is_free() {
    let panics = Some((FailureKind::Panic, 0));
    check_verdicts(
        &plain(),
        &[
            ("wait_timeout", || wait_with_timeout(&ready()), panics),
            (
                "wait_timeout, the others blocked",
                || thread::spawn(|| wait_with_timeout(&ready())).join().unwrap(),
                panics,
            ),
            (
                "recv_timeout",
                || {
                    let (_sender, receiver) = mpsc::channel::<()>();
                    receiver.recv_timeout(Duration::from_secs(1)).expect("timed out");
                },
                panics,
            ),
            (
                "park_timeout",
                || {
                    thread::park_timeout(Duration::from_secs(1));
                    panic!("timed out");
                },
                panics,
            ),
        ],
    );
}

#[test]
fn a_spurious_wake_up_costs_one() {
    for wait in [wait_once, wait_once_with_timeout] {
        let body = move || wait_until_ready(wait);
        assert_eq!(verdict(&Builder::new().max_bound(3).explore(body)), Some((FailureKind::Panic, 1)));
        let report = plain().explore(body);
        assert!(report.complete, "{report:?}");
    }
}

/// `std` says so of `park` too. Who looks again is right.
#[test]
fn a_park_that_wakes_for_no_reason_costs_one() {
    let body = |again: bool| {
        move || {
            let is_ready = Arc::new(AtomicUsize::new(0));
            let (theirs, main) = (is_ready.clone(), thread::current());
            let other = thread::spawn(move || {
                theirs.store(1, SeqCst);
                main.unpark();
            });
            thread::park();
            while again && is_ready.load(SeqCst) == 0 {
                thread::park();
            }
            assert_eq!(is_ready.load(SeqCst), 1, "woken too early");
            other.join().unwrap();
        }
    };
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let builder = || Builder::new().max_bound(3).reduction(reduction);
        assert_eq!(verdict(&builder().explore(body(false))), Some((FailureKind::Panic, 1)), "{reduction:?}");
        let report = builder().spurious(false).explore(body(false));
        assert!(report.complete, "{report:?}");
        assert_eq!(verdict(&builder().explore(body(true))), None, "{reduction:?}");
    }
}

#[test]
fn a_spurious_failure_of_a_weak_exchange_costs_one() {
    let body = || {
        let number = AtomicUsize::new(0);
        let first = number.compare_exchange_weak(0, 1, SeqCst, SeqCst);
        let second = number.compare_exchange_weak(0, 1, SeqCst, SeqCst);
        assert!(first.is_ok() || second.is_ok(), "both failed");
    };
    let report = Builder::new().max_bound(3).reduction(Reduction::None).keep_going(true).explore(body);
    // The second one fails spuriously only if the first one did.
    assert_eq!(executions(&report), [1, 1, 1, 0]);
    assert_eq!(verdict(&report), Some((FailureKind::Panic, 2)));
    assert_eq!(executions(&plain().explore(body)), [1, 0, 0, 0]);
    // The strong one never fails for nothing.
    let strong = || assert!(AtomicUsize::new(0).compare_exchange(0, 1, SeqCst, SeqCst).is_ok());
    assert_eq!(executions(&Builder::new().max_bound(3).explore(strong)), [1, 0, 0, 0]);
}

/// What a body tells in each execution of a bound.
fn told<T: Ord + Send + 'static>(
    builder: Builder,
    body: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let told = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let into = told.clone();
    let _ = builder.explore(move || {
        let value = body();
        into.lock().unwrap().insert(value);
    });
    std::mem::take(&mut *told.lock().unwrap())
}

#[test]
fn which_waiter_is_notified_is_a_free_branch() {
    let body = || {
        let shared = Arc::new((Mutex::new((0, Vec::new())), Condvar::new()));
        for name in ["first", "second"] {
            let shared = shared.clone();
            drop(thread::spawn(move || {
                let mut guard = shared.0.lock().unwrap();
                guard.0 += 1;
                let mut guard = shared.1.wait(guard).unwrap();
                guard.1.push(name);
            }));
        }
        thread::yield_now();
        let waiting = shared.0.lock().unwrap().0;
        shared.1.notify_one();
        thread::yield_now();
        let woken = shared.0.lock().unwrap().1.clone();
        shared.1.notify_all();
        (waiting, woken)
    };
    let told = told(plain().max_bound(0).keep_going(true), body);
    for name in ["first", "second"] {
        assert!(told.contains(&(2, vec![name])), "{told:?}");
    }
}

#[test]
fn every_number_is_chosen_for_free() {
    let body = || (choose(3), choose(2), choose(1));
    let expected: BTreeSet<_> = (0..3).flat_map(|a| (0..2).map(move |b| (a, b, 0))).collect();
    assert_eq!(told(plain(), body), expected);
    let report = plain().explore(move || {
        let _ = body();
    });
    assert_eq!(executions(&report), [6, 0, 0, 0]);
    assert!(report.exhausted());
}

/// A number that does not fit into one choice is chosen digit by digit, and no number above is left out or made up.
#[test]
#[cfg(target_pointer_width = "64")]
fn large_numbers_are_chosen_too() {
    for n in [(1 << 32) + 1, (1 << 29) + 1, usize::MAX] {
        let report = plain().max_executions(100).explore(move || assert!(choose(n) < n));
        assert_eq!((report.bounds[0].executions, report.exhausted()), (100, false), "{n}");
        let body = move || assert!(choose(n) <= n / 2, "a large number");
        let report = plain().strategy(Strategy::Random { seed: 1 }).max_executions(300).explore(body);
        let schedule = report.failure.unwrap().schedule;
        let replayed = plain().replay(schedule).explore(body).failure.unwrap();
        assert_eq!((replayed.kind, &*replayed.message), (FailureKind::Panic, "a large number"), "{n}");
    }
}

/// What is chosen is part of the state that an execution leads to.
#[test]
fn different_choices_are_different_states() {
    let report = plain().explore(|| AtomicUsize::new(0).store(choose(3), SeqCst));
    assert_eq!(report.bounds[0].executions, 3);
    assert_eq!(report.bounds[0].states, 3);
}

#[test]
fn a_limit_makes_a_search_incomplete() {
    use icb_std::model::Stopped;
    let body = || pause_between(thread::yield_now);
    let table = [
        (plain().max_executions(3), Stopped::Executions),
        (plain().max_duration(Duration::ZERO), Stopped::Duration),
    ];
    for (builder, stopped) in table {
        let report = builder.explore(body);
        assert_eq!((report.stopped, report.complete, report.exhausted()), (Some(stopped), false, false));
        assert!(report.failure.is_none(), "{report:?}");
        assert!(report.bounds.last().is_none_or(|bound| !bound.complete), "{report:?}");
    }
    // Two executions exhaust bound 0: that much is proved.
    assert_eq!(plain().max_executions(3).explore(body).proved_bound(), Some(0));
    assert_eq!(plain().max_executions(1).explore(body).proved_bound(), None);
}

#[test]
fn a_search_that_goes_on_keeps_the_failure_with_the_fewest_preemptions() {
    // One preemption at the beginning is enough, three at the end are met first.
    let body = || {
        let numbers = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let theirs = numbers.clone();
        let thread = thread::spawn(move || {
            theirs[0].store(1, SeqCst);
            (1..=2).for_each(|value| theirs[1].store(value, SeqCst));
        });
        let first: Vec<_> = (0..2).map(|_| numbers[0].load(SeqCst)).collect();
        let second: Vec<_> = (0..3).map(|_| numbers[1].load(SeqCst)).collect();
        thread.join().unwrap();
        assert!(first[0] == first[1] && second != [0, 1, 2]);
    };
    for strategy in [Strategy::ContextBounded, Strategy::DepthFirst] {
        let report = plain().strategy(strategy).max_bound(3).at_once(true).keep_going(true).explore(body);
        assert_eq!(report.failure.unwrap().bound, 1, "{strategy:?}");
    }
}
