//! A schedule determines an execution: replaying a failure gives the identical trace every time, and a test whose
//! doings depend on anything else is reported as divergent, with the step, and never as passed.

use icb_std::cell::UnsafeCell;
use icb_std::hint::spin_loop;
use icb_std::model::{Builder, Failure, FailureKind, Granularity, Reduction, Report, choose};
use icb_std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex, mpsc};
use icb_std::thread;
use icb_tests::programs::bluetooth;
use std::time::Duration;

const REPLAYS: usize = 100;

struct Case {
    name: &'static str,
    body: fn(),
    kind: FailureKind,
    bound: u32,
}

/// Explores the body until it fails.
fn find(case: &Case, builder: Builder) -> Failure {
    let report = builder.max_bound(3).explore(case.body);
    let failure = report.failure.unwrap_or_else(|| panic!("{} does not fail", case.name));
    assert_eq!((failure.kind, failure.bound), (case.kind, case.bound), "{}: {failure}", case.name);
    failure
}

fn assert_replays(case: &Case, builder: &Builder) {
    let failure = find(case, builder.clone());
    assert!(!failure.trace.steps.is_empty(), "{}", case.name);
    assert_eq!(failure.trace.schedule, failure.schedule, "{}", case.name);
    let text = failure.schedule.to_string();
    assert_eq!(text.parse().as_ref(), Ok(&failure.schedule), "{}", case.name);
    let identical = (0..REPLAYS).filter(|_| {
        let replayed = builder.clone().replay(text.parse().expect("it is a schedule")).explore(case.body);
        let replayed = replayed.failure.unwrap_or_else(|| panic!("{}: the replay passes", case.name));
        (replayed.kind, &replayed.message, &replayed.waiting)
            == (failure.kind, &failure.message, &failure.waiting)
            && replayed.race == failure.race
            && replayed.location == failure.location
            && replayed.schedule == failure.schedule
            && replayed.trace == failure.trace
    });
    assert_eq!(identical.count(), REPLAYS, "identical replays of {}", case.name);
}

fn lock_order() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let theirs = locks.clone();
    let other = thread::spawn(move || {
        let _b = theirs.1.lock().unwrap();
        let _a = theirs.0.lock().unwrap();
    });
    {
        let _a = locks.0.lock().unwrap();
        let _b = locks.1.lock().unwrap();
    }
    other.join().unwrap();
}

struct Shared(UnsafeCell<usize>);

// SAFETY: accessed through `with_mut` only, one thread at a time under the tester.
unsafe impl Sync for Shared {}
// SAFETY: a number can be sent.
unsafe impl Send for Shared {}

impl Shared {
    fn add(&self) {
        // SAFETY: the pointer is valid during the call, and nobody else runs meanwhile.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }
}

fn unordered_increments() {
    let (shared, turn) = (Arc::new(Shared(UnsafeCell::new(0))), Arc::new(AtomicUsize::new(0)));
    let (theirs, their_turn) = (shared.clone(), turn.clone());
    let other = thread::spawn(move || {
        if their_turn.swap(1, SeqCst) == 0 {
            theirs.add();
        }
    });
    turn.store(2, SeqCst);
    shared.add();
    turn.store(0, SeqCst);
    other.join().unwrap();
}

fn lost_flag() {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = flag.clone();
    let other = thread::spawn(move || {
        while !theirs.load(SeqCst) {
            spin_loop();
        }
    });
    // Set, and taken back for no good reason: who looks only afterwards waits for ever.
    flag.store(true, SeqCst);
    flag.store(false, SeqCst);
    other.join().unwrap();
}

/// Free and costly branches and early steps: which waiter is woken, a chosen number, a wait that expires although
/// others could run.
fn branches() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let (sender, receiver) = mpsc::channel();
    let waiters: Vec<_> = (0..2)
        .map(|number| {
            let (shared, sender) = (shared.clone(), sender.clone());
            thread::spawn(move || {
                let guard = shared.0.lock().unwrap();
                let (guard, result) = shared.1.wait_timeout(guard, Duration::from_millis(5)).unwrap();
                drop(guard);
                sender.send((number, result.timed_out())).unwrap();
            })
        })
        .collect();
    let chosen = choose(3);
    shared.1.notify_one();
    let first = receiver.recv().unwrap();
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert!((chosen, first) != (2, (1, false)), "thread 1 is woken and 2 chosen");
}

fn weak_exchange() {
    let number = Arc::new(AtomicUsize::new(0));
    let theirs = number.clone();
    let other = thread::spawn(move || theirs.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok());
    let exchanged = other.join().unwrap();
    assert!(exchanged, "it failed although nobody else was there");
}

#[test]
fn a_replay_gives_the_identical_trace_every_time() {
    let cases = [
        Case {
            name: "bluetooth",
            body: || bluetooth::run(bluetooth::Version::Published, 2),
            kind: FailureKind::Panic,
            bound: 1,
        },
        Case { name: "lock order", body: lock_order, kind: FailureKind::Deadlock, bound: 1 },
        Case {
            name: "unordered increments",
            body: unordered_increments,
            kind: FailureKind::DataRace,
            bound: 1,
        },
        Case { name: "lost flag", body: lost_flag, kind: FailureKind::Livelock, bound: 0 },
        Case { name: "branches", body: branches, kind: FailureKind::Panic, bound: 1 },
        Case { name: "weak exchange", body: weak_exchange, kind: FailureKind::Panic, bound: 1 },
    ];
    for case in cases {
        for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
            assert_replays(&case, &Builder::new().granularity(granularity));
        }
    }
}

/// A schedule of another test does not fit; the report says at which step.
#[test]
fn a_schedule_of_another_test_diverges() {
    let schedule = "icb1:0*3,1*2,7*4".parse().unwrap();
    let report = Builder::new().replay(schedule).explore(lock_order);
    assert_divergence(&report);
}

/// So does one that has more steps than the test.
#[test]
fn a_test_that_ends_before_its_schedule_diverges() {
    let failure = Builder::new().explore(lock_order).failure.expect("a deadlock");
    let report = Builder::new().replay(failure.schedule).explore(|| *Mutex::new(1).lock().unwrap() += 1);
    assert_divergence(&report);
}

#[test]
fn a_builder_serves_more_than_once() {
    let builder = Builder::new().max_bound(1);
    let reports = [builder.explore(lock_order), builder.explore(lock_order)];
    assert_eq!(reports[0].failure, reports[1].failure);
    assert_eq!(reports[0].to_string(), format!("{} (1 preemption)", reports[0].failure.as_ref().unwrap()));
    assert_eq!(builder.explore(|| ()).to_string(), "no failure in any execution");
    let yields = || thread::spawn(thread::yield_now).join().unwrap();
    let cut = builder.clone().max_executions(0).explore(yields);
    assert_eq!(cut.to_string(), "incomplete: nothing is proved");
    builder.check(yields);
}

/// A schedule that ends early is gone on with: by default choices, which pass.
#[test]
fn the_empty_schedule_is_the_default_execution() {
    let report = Builder::new().replay("icb1:".parse().unwrap()).explore(lock_order);
    assert_eq!(report.failure, None);
}

fn assert_divergence(report: &Report) {
    let failure = report.failure.as_ref().expect("not a pass");
    assert_eq!(failure.kind, FailureKind::Divergence, "{failure}");
    let step = failure
        .message
        .split("step ")
        .nth(1)
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    assert!(step.is_some_and(|step| step.parse::<u64>().is_ok()), "it names the step: {failure}");
    assert!(!report.complete, "{report:?}");
}

/// Twenty steps that depend on the given bits. That two runs do the same by chance is not to be feared.
fn act_on(bits: u64) {
    let variables = [AtomicUsize::new(0), AtomicUsize::new(0)];
    for bit in 0..20 {
        if bits >> bit & 1 == 0 {
            variables[0].fetch_add(1, SeqCst);
        } else {
            variables[1].store(1, SeqCst);
        }
    }
}

fn bits_of_the_clock() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970");
    // Mixed, so that all bits of the result depend on the last ones of the clock.
    (since.as_nanos() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

#[test]
fn reading_the_clock_is_a_divergence() {
    let report = Builder::new().explore(|| act_on(bits_of_the_clock()));
    assert_divergence(&report);
    // The clock of `Instant` as a deadline, as one finds it in real code. On a busy machine the two executions that are compared, the
    // first ones, may happen to do the same, and then there is nothing to notice.
    for _ in 0..50 {
        let turns = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = turns.clone();
        let report = Builder::new().explore(move || {
            let began = std::time::Instant::now();
            let number = AtomicUsize::new(0);
            let mut turns = 0;
            while began.elapsed() < Duration::from_micros(300) {
                number.fetch_add(1, SeqCst);
                turns += 1;
            }
            seen.lock().unwrap().push(turns);
        });
        let turns = turns.lock().unwrap();
        if turns[0] != turns[1] {
            return assert_divergence(&report);
        }
    }
    panic!("the loop took the same number of turns fifty times");
}

#[test]
fn random_hashing_is_a_divergence() {
    let report = Builder::new().explore(|| {
        let locks: std::collections::HashMap<usize, Mutex<()>> =
            (0..12).map(|key| (key, Mutex::new(()))).collect();
        let order: Vec<usize> = locks.keys().copied().collect();
        // The locks in the order of the map, each at a line that depends on its key.
        for key in order {
            if key % 2 == 0 {
                drop(locks[&key].lock().unwrap());
            } else {
                assert!(locks[&key].try_lock().is_ok());
            }
        }
    });
    assert_divergence(&report);
}

/// Two threads take two locks in the order of a randomly hashed map: a possible deadlock, but not in the schedules
/// that the search thinks it runs.
#[test]
fn lock_order_by_random_hashing_never_passes() {
    let report = Builder::new().explore(|| {
        let locks: Arc<std::collections::HashMap<usize, Mutex<()>>> =
            Arc::new((0..12).map(|key| (key, Mutex::new(()))).collect());
        let theirs = locks.clone();
        let other = thread::spawn(move || {
            let guards: Vec<_> = (0..12).map(|key| theirs[&key].lock().unwrap()).collect();
            drop(guards);
        });
        let guards: Vec<_> = locks.values().map(|lock| lock.lock().unwrap()).collect();
        drop(guards);
        other.join().unwrap();
    });
    let failure = report.failure.as_ref().expect("not a pass");
    assert_eq!(failure.kind, FailureKind::Divergence, "{failure}");
}

/// The clock is read only where a preemption leads, so that the first executions show nothing.
#[test]
fn a_divergence_behind_a_preemption_is_noticed() {
    let report = Builder::new().max_bound(3).reduction(Reduction::None).explore(|| {
        let turn = Arc::new(AtomicUsize::new(0));
        let theirs = turn.clone();
        let other = thread::spawn(move || theirs.load(SeqCst));
        turn.store(1, SeqCst);
        turn.store(2, SeqCst);
        let seen = other.join().unwrap();
        if seen == 1 {
            let more = thread::spawn(|| act_on(0));
            act_on(bits_of_the_clock());
            more.join().unwrap();
        }
    });
    assert_divergence(&report);
}

/// A test that fails once and never again, whatever its schedule.
#[test]
fn a_failure_that_does_not_come_back_is_a_divergence() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let report = Builder::new().max_bound(3).explore(|| {
        let other = thread::spawn(|| drop(Mutex::new(0).lock()));
        let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        other.join().unwrap();
        assert_ne!(run, 2, "the third run fails");
    });
    let failure = report.failure.as_ref().expect("not a pass");
    assert_eq!(failure.kind, FailureKind::Divergence, "{failure}");
    assert!(failure.message.contains("the third run fails"), "{failure}");
}
