//! What a report says of a failure is true: without any one of the orders it names the failure need not come, every step
//! it shows is there for a reason, and what it takes to find out costs nothing while exploring.

use icb_core::explain::{orders, simplify};
use icb_core::recording::Tape;
use icb_core::runtime::{self, CoroutineProgram, backtrace_count};
use icb_core::trace::table::{Options, Why, render, selection};
use icb_core::trace::{Failure, Schedule};
use icb_std::model::{Builder, Reduction, choose};
use icb_std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use icb_std::sync::{Arc, mpsc};
use icb_std::thread;
use icb_tests::programs::{bluetooth, lock_order, lost_wakeup, treiber, work_stealing_queue as queue};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Program = fn();

/// Lines that a folded table may have.
const MAX_LINES: usize = 20;

/// One test at a time: one of them counts the backtraces of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn found(f: Program) -> Failure {
    let report = Builder::new().max_bound(3).reduction(Reduction::None).explore(f);
    report.failure.expect("the program fails")
}

fn program(f: Program) -> CoroutineProgram {
    let settings = runtime::Settings { unwind_failed: true, ..runtime::Settings::default() };
    CoroutineProgram::new(std::sync::Arc::new(f), settings, Tape::new(1 << 16))
}

fn explained(f: Program) -> Failure {
    let mut failure = found(f);
    let until = Instant::now() + Duration::from_secs(60);
    let explanation = orders(&mut program(f), &failure, until).expect("the failure can be explained");
    assert!(explanation.complete);
    failure.trace.explanation = Some(Box::new(explanation));
    failure
}

fn fails(f: Program, schedule: &Schedule) -> bool {
    Builder::new().replay(schedule.clone()).explore(f).failure.is_some()
}

/// The lines of the table: from its heading to the blank line after it.
fn table_of(failure: &Failure) -> Vec<String> {
    let text = render(failure, &Options { width: 120, ..Options::default() }).to_plain_string();
    let table = text.lines().skip_while(|line| !line.contains("step  │"));
    table.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

const PROGRAMS: [(&str, Program, usize); 8] = [
    ("Bluetooth, two threads", || bluetooth::run(bluetooth::Version::Published, 1), 3),
    ("Bluetooth, three threads", || bluetooth::run(bluetooth::Version::Published, 2), 4),
    ("queue, no spare slot", || queue::run(queue::Version::NoSpareSlot), 3),
    ("queue, look before announcing", || queue::run(queue::Version::LooksBeforeAnnouncing), 1),
    ("queue, steal without the lock", || queue::run(queue::Version::StealsWithoutLock), 1),
    ("Treiber", || treiber::run(treiber::Version::Plain), 3),
    ("locks in opposite orders", || lock_order::transfers(lock_order::Version::AsItComes), 2),
    ("lost wake-up", || lost_wakeup::run(lost_wakeup::Version::LooksOutside), 2),
];

#[test]
fn every_step_shown_is_needed_or_says_why_it_is_there() {
    let _alone = alone();
    for (name, f, order_count) in PROGRAMS {
        let failure = explained(f);
        let steps = &failure.trace.steps;
        let orders = &failure.trace.explanation.as_ref().unwrap().orders;
        assert!(fails(f, &failure.schedule), "{name}: the failure itself");
        // Each order is taken away in turn: the failure goes away.
        for order in orders {
            let without = order.without.as_ref().expect("there was time for all of them");
            assert!(!fails(f, without), "{name}: fails without {order:?}");
        }
        assert!(orders.len() >= order_count, "{name}: {orders:?}");
        // Each step that is shown belongs to such an order, or there is another reason.
        let shown = selection(&failure).unwrap();
        for (&position, &why) in &shown {
            let ordered = orders.iter().any(|order| order.before == position || order.after == position);
            assert_eq!(ordered, why == Why::Ordered, "{name}: step {position} {why:?}");
            assert!(!why.words().is_empty());
        }
        for order in orders {
            assert!(shown.contains_key(&order.before), "{name}: {order:?}");
            assert!(shown.contains_key(&order.after) || order.after >= steps.len(), "{name}: {order:?}");
        }
        let table = table_of(&failure);
        assert!(table.len() <= MAX_LINES, "{name}: {} lines\n{}", table.len(), table.join("\n"));
    }
}

#[test]
fn the_bluetooth_driver_is_explained_by_its_check_and_its_increment() {
    let _alone = alone();
    let failure = explained(PROGRAMS[0].1);
    let text = render(&failure, &Options { width: 120, ..Options::default() }).to_plain_string();
    for order in [
        "T0 load stopping_flag = false (3) before T1 store stopping_flag := true (5)",
        "T1 update pending_io: 1 → 0 (6) before T0 update pending_io: 0 → 1 (14)",
        "T1 store stopped := true (12) before T0 load stopped = true (15)",
    ] {
        assert!(text.contains(order), "{order} is missing:\n{text}");
    }
}

#[test]
fn what_makes_no_difference_is_folded() {
    let _alone = alone();
    // Both threads use `noise` all the time; only the order around `count` matters.
    let failure = explained(|| {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let same = shared.clone();
        let work = |shared: &(AtomicU32, AtomicU32)| {
            shared.1.fetch_add(1, SeqCst);
            let seen = shared.0.load(SeqCst);
            shared.1.fetch_add(1, SeqCst);
            shared.0.store(seen + 1, SeqCst);
            shared.1.fetch_add(1, SeqCst);
        };
        let other = thread::spawn(move || work(&same));
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.0.load(SeqCst), 2);
    });
    let orders = &failure.trace.explanation.as_ref().unwrap().orders;
    let objects: Vec<_> =
        orders.iter().map(|order| failure.trace.steps[order.before].operation.object).collect();
    assert_eq!(orders.len(), 2, "{orders:?}");
    assert_eq!(objects[0], objects[1]);
    let table = table_of(&failure).join("\n");
    assert!(!table.contains("shared.1") && table.contains("more step"), "{table}");
}

/// Of the looks at what has not been written yet, the last one makes the orders of those before it.
#[test]
fn no_order_is_told_that_others_make() {
    let _alone = alone();
    let failure = explained(|| {
        let number = Arc::new(AtomicU32::new(0));
        let theirs = number.clone();
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || {
            let seen = [theirs.load(SeqCst), theirs.load(SeqCst), theirs.load(SeqCst)];
            sender.send(seen).unwrap();
            sender.send(seen).unwrap();
        });
        let seen = receiver.recv().unwrap();
        number.store(1, SeqCst);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(1)), Ok(seen), "it expires early");
        other.join().unwrap();
    });
    let steps = &failure.trace.steps;
    let orders = &failure.trace.explanation.as_ref().unwrap().orders;
    for (at, one) in orders.iter().enumerate() {
        for (_, other) in orders.iter().enumerate().filter(|(other, _)| *other != at) {
            let threads = |order: &icb_core::trace::Order| {
                (steps[order.before].thread, steps.get(order.after).map(|step| step.thread))
            };
            let makes =
                threads(one) == threads(other) && other.before <= one.before && one.after <= other.after;
            assert!(!makes, "{one:?} makes {other:?}\n{}", table_of(&failure).join("\n"));
        }
    }
}

#[test]
fn a_simpler_failure_is_found_where_there_is_one() {
    let _alone = alone();
    let f: Program = || bluetooth::run(bluetooth::Version::Published, 2);
    let failure = found(f);
    let (simpler, summary) = simplify(&mut program(f), &failure, Instant::now() + Duration::from_secs(60));
    assert!(summary.exhausted, "{summary:?}");
    let switches = |failure: &Failure| {
        failure.trace.steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count()
    };
    assert_eq!(summary.switches.0 as usize, switches(&failure));
    let best = simpler.as_ref().map_or(&failure.schedule, |simpler| &simpler.schedule);
    assert!(fails(f, best));
    assert_eq!(best.preemption_count(), failure.schedule.preemption_count());
    // One preemption, back again, and the thread that is not needed.
    assert!(summary.switches.1 <= 4, "{summary:?}");
    assert!(summary.switches.1 <= summary.switches.0);
    // No time: it says so.
    let (_, summary) = simplify(&mut program(f), &failure, Instant::now());
    assert!(!summary.exhausted && summary.switches.0 == summary.switches.1, "{summary:?}");
}

#[test]
fn exploring_takes_no_backtraces_and_replaying_takes_little_time() {
    let _alone = alone();
    let before = backtrace_count();
    let report = Builder::new().max_bound(2).explore(|| bluetooth::run(bluetooth::Version::Fixed, 2));
    assert!(report.failure.is_none() && report.execution_count() > 20);
    assert_eq!(backtrace_count(), before, "exploring has taken a backtrace");

    let f: Program = || {
        let count = Arc::new(AtomicU32::new(0));
        let same = count.clone();
        let other = thread::spawn(move || (0..70).for_each(|_| same.store(same.load(SeqCst) + 1, SeqCst)));
        (0..70).for_each(|_| count.store(count.load(SeqCst) + 1, SeqCst));
        other.join().unwrap();
        assert_eq!(count.load(SeqCst), 140);
    };
    let failure = found(f);
    let before = backtrace_count();
    let started = Instant::now();
    let replayed = Builder::new().replay(failure.schedule.clone()).explore(f).failure.unwrap();
    let time = started.elapsed();
    let steps = replayed.trace.steps.len();
    assert!((280..=320).contains(&steps), "{steps}");
    assert!(replayed.trace.steps.iter().filter(|step| !step.backtrace.is_empty()).count() > 270);
    assert!(backtrace_count() - before >= steps as u64 - 5);
    // Some hundredths of a second on an idle machine.
    assert!(time < Duration::from_secs(10), "a replay of {steps} steps took {time:?}");
}

/// That it fails in every order is not said where a passing one has another time pass: who has slept is told.
#[test]
fn a_sleep_that_is_over_too_early_is_told() {
    let _alone = alone();
    let failure = explained(|| {
        let (sender, receiver) = mpsc::channel();
        let receives = thread::spawn(move || {
            let found = receiver.recv_timeout(Duration::from_secs(1));
            assert_eq!(found, Err(mpsc::RecvTimeoutError::Timeout));
        });
        let sends = thread::spawn(move || {
            thread::sleep(Duration::from_secs(2));
            let _ = sender.send(7);
        });
        receives.join().unwrap();
        sends.join().unwrap();
    });
    let text = render(&failure, &Options { width: 120, ..Options::default() }).to_plain_string();
    assert!(!text.contains("in whatever order"), "{text}");
    assert!(text.contains("A sleep orders nothing: T2"), "{text}");
}

/// A choice is no step, and no outcome of the step after it; it is shown wherever it was made, and never folded.
#[test]
fn what_was_chosen_has_a_line_of_its_own() {
    let _alone = alone();
    let failure = explained(|| {
        let sum = Arc::new(AtomicU32::new(0));
        let theirs = sum.clone();
        let first = choose(3) as u32;
        let other = thread::spawn(move || theirs.fetch_add(choose(4) as u32, SeqCst));
        sum.fetch_add(first, SeqCst);
        other.join().unwrap();
        let last = if sum.load(SeqCst) == 5 { choose(65_537) } else { choose(1) };
        assert!(last < 65_536, "the last one is {last}");
    });
    let table = table_of(&failure);
    let column = |line: &str, words: &str| line.split('│').position(|cell| cell.trim() == words);
    for (words, thread) in [("choose(3) = 2", 1), ("choose(4) = 3", 2), ("choose(65537) = 65536", 1)] {
        let places: Vec<_> = table.iter().filter_map(|line| column(line, words)).collect();
        assert_eq!(places, [thread], "{words}: {table:#?}");
    }
    assert!(!table.iter().any(|line| line.contains("[branch")), "{table:#?}");
    // Also what was chosen after the last step stands before the failure, in its place and without a number.
    let end = table.iter().position(|line| line.starts_with('✗')).unwrap();
    assert!(
        table[end - 1].contains("choose(65537)") && table[end - 1].starts_with("           │"),
        "{table:#?}"
    );
    assert_eq!(end + 1, table.len(), "{table:#?}");
    let steps = &failure.trace.steps;
    assert_eq!(failure.trace.step_count() + 3, steps.len());
    assert!(steps.iter().all(|step| step.is_choice() || step.branches.is_empty()), "{steps:?}");
}
