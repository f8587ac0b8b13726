//! Searches without a bound come to an end, also where a program waits in loops: going on early costs, and is not possible for
//! ever. What three times in a row can show is still found; what takes more, by a bound that pays for it.

use icb_std::hint::spin_loop;
use icb_std::model::{Builder, FailureKind, Reduction, Strategy};
use icb_std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex, mpsc};
use icb_std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

fn flag(wait: fn(&AtomicBool)) {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let other = thread::spawn(move || theirs.store(true, SeqCst));
    while !flag.load(SeqCst) {
        wait(&flag);
    }
    other.join().unwrap();
}

fn yields() {
    flag(|_| thread::yield_now());
}

fn parks() {
    flag(|_| thread::park_timeout(SHORT));
}

fn spins_without_a_hint() {
    flag(|_| ());
}

fn takes_a_spin_lock() {
    fn add(shared: &(AtomicBool, AtomicUsize)) {
        while shared.0.swap(true, SeqCst) {
            spin_loop();
        }
        shared.1.store(shared.1.load(SeqCst) + 1, SeqCst);
        shared.0.store(false, SeqCst);
    }
    let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
    let theirs = shared.clone();
    let other = thread::spawn(move || add(&theirs));
    add(&shared);
    other.join().unwrap();
    assert_eq!(shared.1.load(SeqCst), 2);
}

fn waits(wait: fn(&Condvar, icb_std::sync::MutexGuard<'_, bool>)) {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    loop {
        let ready = shared.0.lock().unwrap();
        if *ready {
            break;
        }
        wait(&shared.1, ready);
    }
    other.join().unwrap();
}

fn waits_for_a_notification() {
    waits(|condvar, guard| drop(condvar.wait(guard).unwrap()));
}

fn waits_for_a_time() {
    waits(|condvar, guard| drop(condvar.wait_timeout(guard, SHORT).unwrap()));
}

fn receives_in_time() {
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || sender.send(1).unwrap());
    while receiver.recv_timeout(SHORT).is_err() {}
    other.join().unwrap();
}

#[test]
fn loops_that_wait_are_exhausted_without_a_bound() {
    let programs: [(&str, fn()); 7] = [
        ("yields", yields),
        ("parks", parks),
        ("spins without a hint", spins_without_a_hint),
        ("takes a spin lock", takes_a_spin_lock),
        ("waits for a notification", waits_for_a_notification),
        ("waits for a time", waits_for_a_time),
        ("receives in time", receives_in_time),
    ];
    for (name, program) in programs {
        let icb = Builder::new().unbounded().explore(program);
        assert!(icb.complete && icb.exhausted(), "{name}: {icb}");
        if name == "takes a spin lock" {
            // Hundreds of thousands of executions without the reduction.
            continue;
        }
        let all = Builder::new().unbounded().strategy(Strategy::DepthFirst).explore(program);
        assert!(all.complete, "{name}: {all}");
        if ["yields", "spins without a hint"].contains(&name) {
            // Whether it goes round without need depends on whether somebody else runs in the middle of its turn.
            continue;
        }
        let states = |report: &icb_std::model::Report| report.bounds.last().map(|bound| bound.states);
        assert_eq!(states(&icb), states(&all), "{name}");
    }
}

/// Fails if so many waits in a row run out of time although a message comes.
fn patient_for(times: usize) {
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || sender.send(1).unwrap());
    let mut expired = 0;
    while receiver.recv_timeout(SHORT).is_err() {
        expired += 1;
        assert!(expired < times);
    }
    other.join().unwrap();
}

#[test]
fn a_wait_is_cut_short_as_often_as_the_bound_pays_for() {
    let cases: [(fn(), u32); 4] =
        [(|| patient_for(1), 1), (|| patient_for(3), 3), (|| patient_for(4), 4), (|| patient_for(5), 5)];
    for (program, bound) in cases {
        for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
            let report = Builder::new().max_bound(5).reduction(reduction).explore(program);
            let found = report.failure.as_ref().map(|failure| (failure.kind, failure.bound));
            assert_eq!(found, Some((FailureKind::Panic, bound)), "{reduction:?}: {report}");
            let failure = report.failure.unwrap();
            let again = Builder::new().replay(failure.schedule).explore(program).failure.unwrap();
            assert_eq!(again.message, failure.message);
        }
        let report = Builder::new().unbounded().explore(program);
        assert_eq!(report.failure.is_some(), bound <= 3, "without a bound three times in a row: {report}");
        assert!(report.complete || bound <= 3, "{report}");
    }
}

/// Waits at other places, and waits after one that has got its message, are others.
#[test]
fn only_what_repeats_itself_is_limited() {
    fn four_places() {
        let (_sender, receiver) = mpsc::channel::<u32>();
        let busy = thread::spawn(|| ());
        let early = [
            receiver.recv_timeout(SHORT).is_err() && !busy.is_finished(),
            receiver.recv_timeout(SHORT).is_err() && !busy.is_finished(),
            receiver.recv_timeout(SHORT).is_err() && !busy.is_finished(),
            receiver.recv_timeout(SHORT).is_err() && !busy.is_finished(),
        ];
        busy.join().unwrap();
        assert_ne!(early, [true; 4]);
    }
    fn message_between() {
        let (sender, receiver) = mpsc::channel();
        let busy = thread::spawn(|| ());
        let mut early = 0;
        for turn in 0..5 {
            if turn == 2 {
                sender.send(1).unwrap();
            }
            early += usize::from(receiver.recv_timeout(SHORT).is_err() && !busy.is_finished());
        }
        busy.join().unwrap();
        assert_ne!(early, 4);
    }
    for program in [four_places, message_between] {
        for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
            let report = Builder::new().max_bound(4).reduction(reduction).explore(program);
            let found = report.failure.as_ref().map(|failure| (failure.kind, failure.bound));
            assert_eq!(found, Some((FailureKind::Panic, 4)), "{reduction:?}: {report}");
        }
    }
}

/// A wait that begins when nobody else can go on, expires after all before it is notified, by a thread that was started while somebody had the mutex.
fn expires_before_its_notification() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let mutex = shared.0.lock().unwrap();
    let theirs = shared.clone();
    let waiting = thread::spawn(move || {
        let mutex = theirs.0.lock().unwrap();
        let (mutex, first) = theirs.1.wait_timeout(mutex, SHORT).unwrap();
        let seen = *mutex;
        let (_mutex, second) = theirs.1.wait_timeout(mutex, SHORT).unwrap();
        first.timed_out() && seen == 1 && !second.timed_out()
    });
    let (mut mutex, _) = shared.1.wait_timeout(mutex, SHORT).unwrap();
    *mutex += 1;
    let theirs = shared.clone();
    let notifying = thread::spawn(move || theirs.1.notify_one());
    // Only now, when the other may have notified already.
    drop(mutex);
    let is_found = waiting.join().unwrap();
    notifying.join().unwrap();
    assert!(!is_found, "it was notified in its second wait");
}

#[test]
fn a_wait_that_was_free_to_end_expires_before_its_notification_too() {
    for at_once in [false, true] {
        let search = Builder::new().spurious(false).unbounded().at_once(at_once);
        let failure =
            search.explore(expires_before_its_notification).failure.expect("one preemption shows it");
        assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 1), "{failure}");
        let reference = search.reduction(Reduction::None).explore(expires_before_its_notification);
        assert_eq!(reference.failure.map(|failure| failure.message), Some(failure.message));
    }
}

/// A bound of which nobody will ever come to the end is one that the search has passed when nothing is left.
#[test]
fn the_largest_bound_ends() {
    for max_bound in [2_000, u32::MAX] {
        let report = Builder::new().max_bound(max_bound).explore(|| ());
        assert!(report.complete && report.exhausted() && report.bounds.len() > 1_000, "{report}");
    }
}
