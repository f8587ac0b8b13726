//! Loops that wait: they end when what they wait for comes, cost nothing, and are told apart from loops that never
//! can end.

use crate::{check_verdicts, failure, plain};
use icb_std::hint::spin_loop;
use icb_std::model::{Builder, FailureKind, Reduction};
use icb_std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex, RwLock, mpsc};
use icb_std::thread;
use icb_std::time::Instant;
use std::time::Duration;

/// One thread waits for a flag by the given pause; the other may raise it.
fn wait_for_flag(pause: fn(), raises: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let waiter = thread::spawn(move || {
        while !theirs.load(SeqCst) {
            pause();
        }
    });
    if raises {
        flag.store(true, SeqCst);
    }
    waiter.join().unwrap();
}

fn wait_for_lock(pause: fn(), raises: bool) {
    let lock = Arc::new(Mutex::new(false));
    let theirs = lock.clone();
    let waiter = thread::spawn(move || {
        while !*theirs.lock().unwrap() {
            pause();
        }
    });
    if raises {
        *lock.lock().unwrap() = true;
    }
    waiter.join().unwrap();
}

fn try_until_locked(pause: fn(), releases: bool) {
    let lock = Arc::new(Mutex::new(()));
    let theirs = lock.clone();
    let guard = lock.lock().unwrap();
    let waiter = thread::spawn(move || {
        while theirs.try_lock().is_err() {
            pause();
        }
    });
    if releases {
        drop(guard);
    } else {
        std::mem::forget(guard);
    }
    waiter.join().unwrap();
}

fn exchange_until_free(pause: fn(), releases: bool) {
    let lock = Arc::new(AtomicUsize::new(1));
    let theirs = lock.clone();
    let waiter = thread::spawn(move || {
        while theirs.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
            pause();
        }
    });
    if releases {
        lock.store(0, SeqCst);
    }
    waiter.join().unwrap();
}

fn receive_until_sent(pause: fn(), sends: bool) {
    let (sender, receiver) = mpsc::channel();
    let waiter = thread::spawn(move || {
        while receiver.try_recv().is_err() {
            pause();
        }
    });
    if sends {
        sender.send(()).unwrap();
    }
    std::mem::forget(sender);
    waiter.join().unwrap();
}

fn read_until_written(pause: fn(), writes: bool) {
    let lock = Arc::new(RwLock::new(0));
    let theirs = lock.clone();
    let waiter = thread::spawn(move || {
        while *theirs.read().unwrap() == 0 {
            pause();
        }
    });
    if writes {
        *lock.write().unwrap() += 1;
    }
    waiter.join().unwrap();
}

fn swap_until_free(pause: fn(), releases: bool) {
    let lock = Arc::new(AtomicUsize::new(1));
    let theirs = lock.clone();
    let waiter = thread::spawn(move || {
        while theirs.swap(1, SeqCst) == 1 {
            pause();
        }
    });
    if releases {
        lock.store(0, SeqCst);
    }
    waiter.join().unwrap();
}

/// Two flags that are read in turn.
fn wait_for_two_flags(pause: fn(), raises: bool) {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let theirs = flags.clone();
    let waiter = thread::spawn(move || {
        while !(theirs[0].load(SeqCst) || theirs[1].load(SeqCst)) {
            pause();
        }
    });
    if raises {
        flags[1].store(true, SeqCst);
    }
    waiter.join().unwrap();
}

type Wait = fn(fn(), bool);

/// Waiting for an atomic variable, and for anything else.
const WAITS_FOR_ATOMICS: [(&str, Wait); 4] = [
    ("flag", wait_for_flag),
    ("two flags", wait_for_two_flags),
    ("compare_exchange", exchange_until_free),
    ("swap", swap_until_free),
];
const OTHER_WAITS: [(&str, Wait); 4] = [
    ("lock", wait_for_lock),
    ("try_lock", try_until_locked),
    ("try_recv", receive_until_sent),
    ("read lock", read_until_written),
];

const HINTS: [(&str, fn()); 3] = [
    ("spin_loop", spin_loop),
    ("yield_now", thread::yield_now),
    ("sleep", || thread::sleep(Duration::from_millis(1))),
];
const NO_HINT: [(&str, fn()); 1] = [("no hint", || ())];

fn assert_ends(waits: &[(&str, Wait)], pauses: &[(&str, fn())]) {
    for &(wait_name, wait) in waits {
        for &(pause_name, pause) in pauses {
            let report = plain().max_bound(2).explore(move || wait(pause, true));
            assert!(
                report.complete,
                "{wait_name}, {pause_name}: {:?}",
                report.failure.map(|f| f.to_string())
            );
            let longest = report.bounds.iter().map(|bound| bound.max_steps).max();
            assert!(longest < Some(400), "{wait_name}, {pause_name}: {longest:?} steps");
        }
    }
}

fn assert_livelock(waits: &[(&str, Wait)], pauses: &[(&str, fn())]) {
    for &(wait_name, wait) in waits {
        for &(pause_name, pause) in pauses {
            let report = plain().explore(move || wait(pause, false));
            let found = report.failure.as_ref().map(|f| (f.kind, f.bound));
            assert_eq!(found, Some((FailureKind::Livelock, 0)), "{wait_name}, {pause_name}");
        }
    }
}

#[test]
fn a_loop_that_waits_for_what_comes_ends() {
    assert_ends(&WAITS_FOR_ATOMICS, &HINTS);
    assert_ends(&WAITS_FOR_ATOMICS, &NO_HINT);
    assert_ends(&OTHER_WAITS, &HINTS);
}

#[test]
fn a_loop_that_waits_for_what_never_comes_is_a_livelock() {
    assert_livelock(&WAITS_FOR_ATOMICS, &HINTS);
    assert_livelock(&WAITS_FOR_ATOMICS, &NO_HINT);
    assert_livelock(&OTHER_WAITS, &HINTS);
}

#[test]
fn spinning_without_a_hint_is_recognised_at_every_object() {
    assert_ends(&OTHER_WAITS, &NO_HINT);
    assert_livelock(&OTHER_WAITS, &NO_HINT);
}

#[test]
fn a_livelock_says_who_spins() {
    let report = plain().explore(|| wait_for_flag(spin_loop, false));
    let message = &failure(&report).message;
    for words in ["T1 spins until atomic #3 changes", "T0 waits for T1 to end"] {
        assert!(message.contains(words), "{message}");
    }
}

/// A loop that changes something is no livelock: nobody can know that it never ends.
#[test]
fn a_loop_that_goes_on_for_ever_reaches_the_step_limit() {
    fn count() {
        let number = AtomicUsize::new(0);
        while number.fetch_add(1, SeqCst) < usize::MAX {}
    }
    fn ping_pong() {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        drop(thread::spawn(move || {
            loop {
                theirs.store(1, SeqCst);
                thread::yield_now();
            }
        }));
        loop {
            number.store(2, SeqCst);
            thread::yield_now();
        }
    }
    let limit = Some((FailureKind::StepLimit, 0));
    check_verdicts(&plain().max_steps(500), &[("count", count, limit), ("ping-pong", ping_pong, limit)]);
    let report = plain().max_steps(500).explore(count);
    assert!(failure(&report).message.contains("500"), "{:?}", report.failure);
    assert_eq!(failure(&report).schedule.step_count(), 500);
}

/// The limit is the longest execution that is allowed.
#[test]
fn an_execution_of_exactly_the_limit_passes() {
    fn ten() {
        let number = AtomicUsize::new(0);
        (0..9).for_each(|_| number.store(1, SeqCst));
    }
    assert_eq!(plain().explore(ten).bounds[0].max_steps, 10);
    check_verdicts(&plain().max_steps(10), &[("ten steps", ten, None)]);
    check_verdicts(&plain().max_steps(9), &[("ten steps", ten, Some((FailureKind::StepLimit, 0)))]);
}

/// Where a thread that looks after something from time to time keeps a deadlock from being one, it is said who waits in vain.
#[test]
fn at_the_limit_it_is_said_who_is_blocked() {
    let report = plain().max_steps(500).explore(|| {
        let ticks = Arc::new(AtomicUsize::new(0));
        let theirs = ticks.clone();
        drop(thread::spawn(move || {
            while theirs.fetch_add(1, SeqCst) != usize::MAX {
                thread::sleep(Duration::from_millis(1));
            }
        }));
        thread::park();
    });
    let failure = failure(&report);
    assert_eq!(failure.kind, FailureKind::StepLimit);
    assert!(
        failure.message.contains("half of the steps: T0 is parked and nobody unparks it"),
        "{}",
        failure.message
    );
    let report = plain().max_steps(500).explore(|| {
        let ticks = AtomicUsize::new(0);
        while ticks.fetch_add(1, SeqCst) != usize::MAX {}
    });
    assert!(!self::failure(&report).message.contains("half"));
}

/// A thread that pauses and looks at nothing need not be told to pause.
#[test]
fn at_the_limit_it_is_said_who_only_pauses() {
    for pause in [spin_loop, thread::yield_now] {
        let report = plain().max_steps(500).explore(move || {
            drop(thread::spawn(|| ()));
            loop {
                pause();
            }
        });
        let failure = failure(&report);
        assert_eq!(failure.kind, FailureKind::StepLimit);
        assert!(failure.message.contains("by T0, which pauses again and again"), "{}", failure.message);
    }
}

/// Waits with a limited number of attempts, as spin locks do before they park.
fn spin_then_park(attempts: usize, raises: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let waiter = thread::spawn(move || {
        for _ in 0..attempts {
            if theirs.load(SeqCst) {
                return;
            }
            spin_loop();
        }
        thread::park();
    });
    if raises {
        flag.store(true, SeqCst);
    }
    waiter.thread().unpark();
    waiter.join().unwrap();
}

#[test]
fn bounded_spinning_comes_to_its_end() {
    for raises in [true, false] {
        for attempts in [1, 2, 3, 40, 100] {
            let report = plain().max_bound(2).explore(move || spin_then_park(attempts, raises));
            assert!(
                report.complete,
                "{attempts} attempts, {raises}: {:?}",
                report.failure.map(|f| f.to_string())
            );
        }
    }
}

/// As long as it may be counting, and has not come to the limit on steps.
#[test]
fn counting_comes_to_its_end_where_nobody_else_can_go_on() {
    for (name, pause) in HINTS.iter().chain([&("none", (|| ()) as fn())]) {
        for attempts in [300, 4000] {
            let report = plain().max_bound(0).explore(move || {
                let flag = AtomicBool::new(false);
                let count = (0..attempts).filter(|_| {
                    let raised = flag.load(SeqCst);
                    pause();
                    !raised
                });
                assert_eq!(count.count(), attempts);
            });
            assert!(report.complete, "{attempts}, {name}: {:?}", report.failure.map(|f| f.to_string()));
        }
    }
}

/// Whether a thread with so many attempts gives up although the value that it waits for will come.
fn may_give_up(attempts: usize, pause: fn()) -> bool {
    let gave_up = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let into = gave_up.clone();
    let report = plain().explore(move || {
        let flag = std::sync::Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let waiter = thread::spawn(move || {
            (0..attempts).all(|_| {
                let raised = theirs.load(SeqCst);
                pause();
                !raised
            })
        });
        flag.store(true, SeqCst);
        if waiter.join().unwrap() {
            into.store(true, SeqCst);
        }
    });
    assert!(report.complete, "{:?}", report.failure);
    gave_up.load(SeqCst)
}

#[test]
fn a_few_attempts_may_fail() {
    for attempts in [1, 2] {
        assert!(HINTS.iter().all(|(_, pause)| may_give_up(attempts, *pause)), "{attempts} attempts");
    }
    for attempts in [1, 10, 40] {
        assert!(may_give_up(attempts, || ()), "{attempts} attempts");
    }
}

#[test]
fn many_attempts_may_fail_too() {
    // One preemption, and twice going on early.
    for attempts in [3, 10, 20] {
        assert!(HINTS.iter().all(|(_, pause)| may_give_up(attempts, *pause)), "{attempts} attempts");
    }
    for attempts in [10, 60, 70] {
        assert!(may_give_up(attempts, || ()), "{attempts} attempts");
    }
}

/// Two threads that wait for each other by spinning: with the right protocol they go on, one after the other.
#[test]
fn turns_taken_by_spinning() {
    let report = plain().max_bound(2).explore(|| {
        let turn = Arc::new(AtomicUsize::new(0));
        let theirs = turn.clone();
        let other = thread::spawn(move || {
            for round in 0..2 {
                while theirs.load(SeqCst) != 2 * round + 1 {
                    spin_loop();
                }
                theirs.fetch_add(1, SeqCst);
            }
        });
        for round in 0..2 {
            while turn.load(SeqCst) != 2 * round {
                thread::yield_now();
            }
            turn.fetch_add(1, SeqCst);
        }
        other.join().unwrap();
    });
    assert!(report.complete, "{:?}", report.failure);
}

/// A thread that only seems to wait, because what it changes cannot be seen, goes on when everybody else waits: in
/// the same way in every execution, however many have been run before.
#[test]
fn a_thread_that_only_seems_to_wait_goes_on() {
    let report = plain().max_bound(2).explore(|| {
        let (hidden, done) =
            (Arc::new(Mutex::new(std::cell::Cell::new(0))), Arc::new(AtomicBool::new(false)));
        let their_done = done.clone();
        let other = thread::spawn(move || {
            loop {
                let hidden = hidden.lock().unwrap();
                hidden.set(hidden.get() + 1);
                if hidden.get() > 4 {
                    break;
                }
                drop(hidden);
                thread::yield_now();
            }
            their_done.store(true, SeqCst);
        });
        while !done.load(SeqCst) {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    assert!(report.complete, "{:?}", report.failure.map(|f| f.to_string()));
}

/// A value that comes and goes: a spinning thread may see it, or miss it; both are found.
#[test]
fn a_passing_value_is_seen_or_missed() {
    let report = plain().keep_going(true).max_bound(1).explore(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let waiter = thread::spawn(move || {
            let mut seen = 0;
            while seen == 0 {
                seen = theirs.load(SeqCst);
                spin_loop();
            }
            assert_eq!(seen, 2, "seen in passing");
        });
        number.store(1, SeqCst);
        number.store(2, SeqCst);
        waiter.join().unwrap();
    });
    assert_eq!(report.bounds[0].failures, 0);
    assert!(report.bounds[1].failures > 0 && report.bounds[1].failures < report.bounds[1].executions);
}

/// Waits for a flag; what it changes each time round is seen by nobody.
fn count_attempts(pause: fn(), raises: bool) {
    let (flag, attempts) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let theirs = flag.clone();
    let waiter = thread::spawn(move || {
        while !theirs.load(SeqCst) {
            attempts.fetch_add(1, SeqCst);
            pause();
        }
    });
    if raises {
        flag.store(true, SeqCst);
    }
    waiter.join().unwrap();
}

/// Takes a reference that is not there any more, and gives it back, with a lock held while it pauses: who is to come
/// needs the lock. (So does internment.)
fn pause_with_a_lock_held(pause: fn(), _: bool) {
    let (count, table) = (Arc::new(AtomicUsize::new(1)), Arc::new(Mutex::new(true)));
    let (theirs, their_table) = (count.clone(), table.clone());
    let leaver = thread::spawn(move || {
        if theirs.fetch_sub(1, SeqCst) == 1 {
            *their_table.lock().unwrap() = false;
        }
    });
    loop {
        let is_there = table.lock().unwrap();
        if !*is_there || count.fetch_add(1, SeqCst) != 0 {
            break;
        }
        count.fetch_sub(1, SeqCst);
        pause();
    }
    leaver.join().unwrap();
}

/// Looks with a lock held while it pauses.
fn look_with_a_lock_held(pause: fn(), _: bool) {
    let lock = Arc::new(Mutex::new(false));
    let theirs = lock.clone();
    let other = thread::spawn(move || *theirs.lock().unwrap() = true);
    loop {
        let done = lock.lock().unwrap();
        if *done {
            break;
        }
        pause();
    }
    other.join().unwrap();
}

/// Two readers that count themselves in and out while a writer is there.
fn readers_of_a_spinning_lock(pause: fn(), _: bool) {
    const WRITER: usize = 1 << 16;
    let word = Arc::new(AtomicUsize::new(WRITER));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let word = word.clone();
            thread::spawn(move || {
                while word.fetch_add(1, SeqCst) >= WRITER {
                    word.fetch_sub(1, SeqCst);
                    pause();
                }
            })
        })
        .collect();
    word.fetch_sub(WRITER, SeqCst);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

/// Loops that change something each time that they go round come to their end as well.
#[test]
fn loops_that_change_something_give_way() {
    let loops: [(&str, Wait); 4] = [
        ("count attempts", count_attempts),
        ("pause with a lock held", pause_with_a_lock_held),
        ("look with a lock held", look_with_a_lock_held),
        ("readers", readers_of_a_spinning_lock),
    ];
    for (name, wait) in loops {
        for (hint, pause) in &HINTS[..2] {
            let pause = *pause;
            let report = plain().max_bound(1).max_steps(2_000).explore(move || wait(pause, true));
            let failure = report.failure.as_ref().map(ToString::to_string);
            assert!(report.complete, "{name}, {hint}: {failure:?}");
        }
    }
}

/// A task that wakes itself is polled again at once, and never pauses.
fn poll_again(changes_nothing: bool, raises: bool) {
    let (woken, done) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    let theirs = done.clone();
    let other = thread::spawn(move || theirs.store(raises, SeqCst));
    let polls = AtomicUsize::new(0);
    while !done.load(SeqCst) {
        if !changes_nothing {
            polls.fetch_add(1, SeqCst);
        }
        woken.store(true, SeqCst);
        while !woken.swap(false, SeqCst) {
            thread::park();
        }
    }
    other.join().unwrap();
}

/// Loops that do the same over and over without ever pausing give way too. If they can never end, that is no pass.
#[test]
fn loops_that_never_pause_give_way() {
    let report = plain().max_bound(2).explore(|| poll_again(true, true));
    assert!(report.complete && report.failure.is_none(), "{:?}", report.failure.map(|f| f.message));
    let report = plain().max_steps(3_000).explore(|| poll_again(true, false));
    assert_eq!(failure(&report).kind, FailureKind::StepLimit);
    // Whoever counts does not repeat himself.
    let report = plain().max_steps(3_000).explore(|| poll_again(false, true));
    assert_eq!(failure(&report).kind, FailureKind::StepLimit);
}

/// Loops that come round under locks give way too, where what these guard is seen to be the same again: a task that wakes itself, on an executor that keeps its
/// signal in a mutex. Nobody holds a lock while he gives way that he lets go of in his loop.
#[test]
fn loops_that_never_pause_and_take_locks_give_way() {
    fn polls<T: Send + 'static>(raises: bool, signal: impl Fn() -> T, set: fn(&mut T, bool)) {
        let done = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(Mutex::new(signal()));
        let (theirs, their_signal) = (done.clone(), signal.clone());
        let other = thread::spawn(move || {
            drop(their_signal.lock());
            theirs.store(raises, SeqCst);
        });
        while !done.load(SeqCst) {
            set(&mut signal.lock().unwrap(), true);
            set(&mut signal.lock().unwrap(), false);
        }
        other.join().unwrap();
    }
    let flag = |raises| polls(raises, || false, |signal, to| *signal = to);
    let report = plain().max_bound(2).max_steps(3_000).explore(move || flag(true));
    assert!(report.complete && report.failure.is_none(), "{:?}", report.failure.map(|f| f.message));
    let report = plain().max_steps(3_000).explore(move || flag(false));
    assert_eq!(failure(&report).kind, FailureKind::StepLimit);
    // Whoever counts does not repeat himself, nor does it count where it is not seen.
    let report = plain().max_steps(3_000).explore(|| polls(true, || 0, |signal, _| *signal += 1));
    assert_eq!(failure(&report).kind, FailureKind::StepLimit);
    let report = plain().max_steps(3_000).explore(|| polls(true, Vec::new, |signal, to| signal.push(to)));
    assert_eq!(failure(&report).kind, FailureKind::StepLimit);
}

/// A task that wakes itself with nothing but the thread's own park token, as `yield_now().await` on the simplest of executors: it need not go round for
/// long before it is known.
#[test]
fn a_thread_that_unparks_itself_and_parks_gives_way() {
    fn wait(raised: bool, tries: impl Fn(&Mutex<bool>) -> bool) {
        let flag = Arc::new(Mutex::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || *theirs.lock().unwrap() = raised);
        while !tries(&flag) {
            thread::current().unpark();
            thread::park();
        }
        other.join().unwrap();
    }
    let looks = |flag: &Mutex<bool>| flag.try_lock().is_ok_and(|raised| *raised);
    let report = plain().max_bound(2).max_steps(1_000).explore(move || wait(true, looks));
    assert!(report.complete && report.failure.is_none(), "{:?}", report.failure.map(|f| f.message));
    let report = plain().max_steps(3_000).explore(move || wait(false, looks));
    assert!(matches!(failure(&report).kind, FailureKind::StepLimit | FailureKind::Livelock));
}

/// Long loops that are going somewhere are left alone.
#[test]
fn loops_that_do_work_are_not_taken_for_waiting() {
    let executions = |turns: usize| {
        let report = plain().reduction(Reduction::None).max_bound(1).explore(move || {
            let number = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
            let theirs = number.clone();
            let worker = thread::spawn(move || {
                for _ in 0..turns {
                    theirs.0.fetch_add(1, SeqCst);
                    *theirs.1.lock().unwrap() += 1;
                }
            });
            number.0.load(SeqCst);
            worker.join().unwrap();
        });
        assert!(report.complete);
        report.execution_count()
    };
    let [few, more] = [20, 30].map(executions);
    assert_eq!(executions(400), few + 38 * (more - few));
}

/// A loop that makes one object after another, or goes through many, comes to its end, though it does the same to each: nobody's time is up meanwhile. So does one
/// that counts.
#[test]
fn loops_that_go_through_objects_are_not_taken_for_waiting() {
    fn make_many() {
        let mut made = Vec::new();
        for _ in 0..100 {
            let flag = Arc::new((AtomicUsize::new(1), AtomicBool::new(false)));
            flag.clone().0.fetch_sub(1, SeqCst);
            flag.1.store(true, SeqCst);
            made.push(flag);
        }
    }
    fn go_through_many() {
        let flags: Vec<_> = (0..300).map(|_| AtomicBool::new(true)).collect();
        flags.iter().for_each(|flag| flag.store(false, SeqCst));
        let locks: Vec<_> = (0..300).map(|_| Mutex::new(true)).collect();
        locks.iter().for_each(|lock| *lock.lock().unwrap() = false);
    }
    fn pause_in_between() {
        let locks: Vec<_> = (0..50).map(|_| Mutex::new(true)).collect();
        for lock in &locks {
            *lock.lock().unwrap() = false;
            thread::yield_now();
        }
    }
    fn count_with_pauses() {
        let count = AtomicUsize::new(0);
        for _ in 0..25 {
            count.fetch_add(1, SeqCst);
            thread::yield_now();
        }
    }
    fn look_again() {
        let flag = AtomicBool::new(false);
        (0..100).for_each(|_| assert!(!flag.load(SeqCst)));
        (0..100).for_each(|_| {
            assert!(!flag.load(SeqCst));
            spin_loop();
        });
    }
    let works = [make_many as fn(), go_through_many, pause_in_between, count_with_pauses, look_again];
    for (work, auto_advance) in works.into_iter().flat_map(|work| [(work, false), (work, true)]) {
        let report = plain().max_bound(0).auto_advance(auto_advance).explore(move || {
            let (sender, receiver) = mpsc::channel();
            let worker = thread::spawn(move || {
                work();
                sender.send(()).unwrap();
            });
            receiver.recv_timeout(Duration::from_secs(60)).expect("in time");
            worker.join().unwrap();
        });
        assert!(report.complete && report.failure.is_none(), "{:?}", report.failure.map(|f| f.message));
    }
}

/// Neither do waits with a timeout keep such a loop from going on for ever.
#[test]
fn loops_that_pause_and_change_something_go_on_beside_waits_with_timeouts() {
    for auto_advance in [false, true] {
        let builder = plain().reduction(Reduction::PartialOrder).max_executions(1_000);
        let report = builder.max_bound(0).auto_advance(auto_advance).explore(|| {
            let done = Arc::new(AtomicUsize::new(0));
            let theirs = done.clone();
            let (sender, receiver) = mpsc::channel::<()>();
            let worker = thread::spawn(move || {
                for _ in 0..60 {
                    thread::sleep(Duration::from_millis(1));
                    theirs.fetch_add(1, SeqCst);
                }
                drop(sender);
            });
            while receiver.recv_timeout(Duration::from_millis(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                done.load(SeqCst);
            }
            worker.join().unwrap();
        });
        assert!(report.failure.is_none(), "{:?}", report.failure.map(|f| f.message));
    }
}

/// What only a thread that goes round without giving way can show is found as well: from the fourth pause on at a cost.
#[test]
fn a_loop_may_go_round_more_often_at_a_cost() {
    let seen = |turns: usize, bound: u32| {
        let report = plain().max_bound(bound).explore(move || {
            let number = Arc::new(AtomicUsize::new(0));
            let theirs = number.clone();
            let counter = thread::spawn(move || {
                for _ in 0..turns {
                    theirs.fetch_add(1, SeqCst);
                    thread::yield_now();
                }
            });
            assert!(number.load(SeqCst) < turns, "all turns before the first look");
            counter.join().unwrap();
        });
        report.failure.map(|failure| failure.bound)
    };
    for (turns, bound) in [(3, 1), (4, 1), (5, 2), (10, 2)] {
        assert_eq!(seen(turns, 2), Some(bound), "{turns} turns");
    }
}

/// Looks at so many values until one of them is changed.
fn look_at(count: usize) {
    let values: Arc<Vec<AtomicUsize>> = Arc::new((0..count).map(|_| AtomicUsize::new(0)).collect());
    let theirs = values.clone();
    let other = thread::spawn(move || theirs[0].store(1, SeqCst));
    while values.iter().all(|value| value.load(SeqCst) == 0) {
        thread::yield_now();
    }
    other.join().unwrap();
}

/// Changes so many values until a flag is raised.
fn work_on(count: usize) {
    let flag = Arc::new(AtomicBool::new(false));
    let values: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    let theirs = flag.clone();
    let other = thread::spawn(move || theirs.store(true, SeqCst));
    while !flag.load(SeqCst) {
        for value in &values {
            value.fetch_add(1, SeqCst);
        }
        thread::yield_now();
    }
    other.join().unwrap();
}

/// Waits for a flag, pausing twice as often each time; `works`: it changes something as well.
fn back_off(works: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let number = AtomicUsize::new(0);
    let theirs = flag.clone();
    let other = thread::spawn(move || theirs.store(true, SeqCst));
    let mut pauses = 2;
    while !flag.load(SeqCst) {
        if works {
            number.fetch_add(1, SeqCst);
        }
        (0..pauses).for_each(|_| spin_loop());
        pauses = 2048.min(2 * pauses);
    }
    other.join().unwrap();
}

/// A loop that waits and does much in each turn, or pauses ever longer, is short of the limit on steps however often a bound lets it go on.
#[test]
fn loops_with_long_turns_end_however_often_they_are_let_on() {
    let programs: [(&str, fn(), u32); 5] = [
        ("looks at 300", || look_at(300), 3),
        ("looks at 1000", || look_at(1000), 3),
        ("works on 60", || work_on(60), 4),
        ("backs off", || back_off(false), 4),
        ("works and backs off", || back_off(true), 4),
    ];
    for (name, program, bound) in programs {
        let report = Builder::new().max_bound(bound).explore(program);
        assert_eq!(report.proved_bound(), Some(bound), "{name}: {report}");
    }
}

/// Waits until the time is over or, if somebody looks for one, a flag is raised; says whether the time was over.
fn wait_until(flag: Option<&AtomicBool>, limit: Duration, pause: fn()) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < limit {
        if flag.is_some_and(|flag| flag.load(SeqCst)) {
            return false;
        }
        pause();
    }
    true
}

#[test]
fn a_loop_that_waits_for_a_time_ends() {
    for limit in [Duration::from_micros(1), Duration::from_millis(100), Duration::from_secs(36_000)] {
        // The last does not pause at all.
        for pause in [spin_loop as fn(), thread::yield_now, || {}] {
            let alone = plain().max_bound(1).explore(move || assert!(wait_until(None, limit, pause)));
            assert_eq!((alone.failure.is_none(), alone.bounds[0].executions), (true, 1), "{limit:?}");
            let never = plain().max_bound(1).explore(move || {
                let flag = AtomicBool::new(false);
                assert!(wait_until(Some(&flag), limit, pause));
            });
            assert_eq!((never.failure.is_none(), never.bounds[0].executions), (true, 1), "{limit:?}");
        }
    }
}

/// Waits for a flag that is raised, for a while; another thread lets that while pass, if there is one.
fn flag_in_time(time_passes: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let waiter = thread::spawn(move || wait_until(Some(&theirs), Duration::from_millis(1), spin_loop));
    let looker = time_passes.then(|| thread::spawn(|| wait_until(None, Duration::from_millis(1), spin_loop)));
    flag.store(true, SeqCst);
    assert!(!waiter.join().unwrap(), "too late");
    if let Some(looker) = looker {
        assert!(looker.join().unwrap());
    }
}

#[test]
fn time_passes_only_if_somebody_waits_for_nothing_else() {
    let report = plain().max_bound(2).explore(|| flag_in_time(false));
    assert!(report.failure.is_none());
    let found = plain().max_bound(2).explore(|| flag_in_time(true)).failure.unwrap();
    assert_eq!((found.bound, found.message.as_str()), (1, "too late"));
}

#[test]
fn others_can_go_on_while_a_thread_only_reads_the_clock() {
    let found = plain().max_bound(0).explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(true, SeqCst));
        assert!(wait_until(None, Duration::from_micros(1), || {}));
        assert!(!flag.load(SeqCst), "raised meanwhile");
        other.join().unwrap();
    });
    assert_eq!(found.failure.map(|failure| failure.message).as_deref(), Some("raised meanwhile"));
}

#[test]
fn asking_for_the_time_is_no_way_out_of_a_livelock() {
    let found = plain().max_bound(0).explore(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            let _ = Instant::now();
            spin_loop();
        }
    });
    assert_eq!(found.failure.map(|failure| failure.kind), Some(FailureKind::Livelock));
}

/// Where threads that are left waiting are no failure, one that gives up after so many attempts comes to what it does then. One that never does
/// is left.
#[test]
fn attempts_end_although_the_test_is_over() {
    for pause in [spin_loop as fn(), thread::yield_now] {
        for attempts in [Some(3), Some(40), None] {
            let gave_up = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let theirs = gave_up.clone();
            let report = plain().detached(true).max_bound(1).explore(move || {
                let (flag, gave_up) = (AtomicBool::new(false), theirs.clone());
                thread::spawn(move || {
                    let mut made = 0;
                    while attempts.is_none_or(|attempts| made < attempts) {
                        if flag.load(SeqCst) {
                            return;
                        }
                        pause();
                        made += 1;
                    }
                    gave_up.store(true, SeqCst);
                });
            });
            assert!(report.failure.is_none(), "{attempts:?}: {:?}", report.failure);
            assert_eq!(gave_up.load(SeqCst), attempts.is_some(), "{attempts:?}");
        }
    }
}

/// A thread that does nothing but pause is left as well.
#[test]
fn who_only_pauses_is_left_when_the_test_is_over() {
    let sleep: fn() = || thread::sleep(Duration::from_millis(1));
    for pause in [spin_loop as fn(), thread::yield_now, sleep] {
        for spawns_another in [false, true] {
            for auto_advance in [false, true] {
                let builder = plain().detached(true).auto_advance(auto_advance).max_bound(1);
                let builder = builder.reduction(Reduction::PartialOrder);
                let report = builder.explore(move || {
                    thread::spawn(move || {
                        loop {
                            pause();
                        }
                    });
                    if spawns_another {
                        thread::spawn(|| {}).join().unwrap();
                    }
                });
                assert!(report.complete && report.failure.is_none(), "{:?}", report.failure);
            }
        }
    }
}

/// Threads that wait by looking under one lock, and do not pause, do not keep each other going: the one that they wait for comes.
#[test]
fn threads_that_look_under_a_lock_let_others_come() {
    fn under_a_mutex(count: usize) {
        let lock = Arc::new(Mutex::new(false));
        let waiters: Vec<_> = (0..count)
            .map(|_| {
                let lock = lock.clone();
                thread::spawn(move || while !*lock.lock().unwrap() {})
            })
            .collect();
        *lock.lock().unwrap() = true;
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    }
    for count in [2, 3] {
        for reduction in [Reduction::None, Reduction::PartialOrder] {
            let report = plain().max_bound(1).reduction(reduction).explore(move || under_a_mutex(count));
            let longest = report.bounds.iter().map(|bound| bound.max_steps).max();
            assert!(report.complete && longest < Some(1000), "{count}, {reduction:?}: {report:?}");
        }
    }
}

/// What such a thread does under the lock before it goes on with something else is told, although it is not seen: the other one may come
/// right after it.
#[test]
fn what_a_spinning_thread_does_last_under_a_lock_is_told() {
    for reduction in [Reduction::None, Reduction::PartialOrder] {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
        let into = seen.clone();
        let report = plain().max_bound(1).reduction(reduction).explore(move || {
            let (hidden, after) =
                (Arc::new(Mutex::new(std::cell::Cell::new(0))), Arc::new(AtomicUsize::new(0)));
            let wait_for = |value| {
                let (hidden, after) = (hidden.clone(), after.clone());
                move || {
                    let mut rounds = 0;
                    loop {
                        let guard = hidden.lock().unwrap();
                        if guard.get() == value {
                            guard.set(value + 1);
                            break;
                        }
                        rounds += 1;
                    }
                    (rounds, after.fetch_add(value, SeqCst))
                }
            };
            let first = thread::spawn(wait_for(1));
            let second = thread::spawn(wait_for(2));
            thread::spawn(move || hidden.lock().unwrap().set(1));
            let (rounds, _) = first.join().unwrap();
            let (more_rounds, after) = second.join().unwrap();
            // Both have waited long enough for their looks to be no news.
            if rounds.min(more_rounds) > 120 {
                into.lock().unwrap().insert(after);
            }
        });
        assert!(report.complete, "{reduction:?}: {report:?}");
        assert_eq!(*seen.lock().unwrap(), [0, 1].into(), "{reduction:?}");
    }
}

/// That is told once: what the thread does later is no news for who waits for a change under the lock.
#[test]
fn what_a_spinning_thread_has_done_is_told_once() {
    fn longest(pauses: usize) -> u64 {
        let report = plain().max_bound(0).explore(move || {
            let stage = Arc::new(Mutex::new(0));
            let wait_for = |value| {
                let stage = stage.clone();
                move || {
                    while *stage.lock().unwrap() < value {}
                }
            };
            let (first, second) = (wait_for(1), wait_for(2));
            let first = thread::spawn(move || {
                first();
                (0..pauses).for_each(|_| thread::yield_now());
            });
            let second = thread::spawn(second);
            thread::spawn({
                let stage = stage.clone();
                move || *stage.lock().unwrap() = 1
            });
            first.join().unwrap();
            *stage.lock().unwrap() = 2;
            second.join().unwrap();
        });
        assert!(report.complete || report.failure.is_none(), "{report:?}");
        report.bounds[0].max_steps
    }
    let (without, with) = (longest(0), longest(8));
    assert!(with < without + 48, "{without} steps, {with} with pauses");
}

/// An exchange that fails for no reason finds what it wants when it is tried again: its thread waits for nobody, however often the
/// others come by and change something else.
#[test]
fn who_fails_for_no_reason_does_not_wait_for_a_change() {
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        for pause in [thread::yield_now, spin_loop] {
            let report =
                Builder::new().max_bound(2).max_steps(1_000).reduction(reduction).explore(move || {
                    let (flag, rounds) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
                    let theirs = flag.clone();
                    let waiter = thread::spawn(move || {
                        while !theirs.load(SeqCst) {
                            rounds.fetch_add(1, SeqCst);
                            thread::park_timeout(Duration::from_millis(1));
                        }
                    });
                    while flag.compare_exchange_weak(false, true, SeqCst, SeqCst).is_err() {
                        pause();
                    }
                    waiter.join().unwrap();
                });
            assert!(report.failure.is_none() && report.complete, "{reduction:?}: {report:?}");
        }
    }
}
