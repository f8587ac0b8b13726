//! Loops that only look: a thread that provably does the same again waits until something is changed, and one that may be counting its rounds,
//! wherever it keeps the count, goes on at a cost.

use icb_std::hint::spin_loop;
use icb_std::model::{Builder, FailureKind, Report};
use icb_std::sync::Arc;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::thread;
use icb_std::time::Instant;
use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

const HINTS: [(&str, fn()); 3] = [
    ("spin_loop", spin_loop),
    ("yield_now", thread::yield_now),
    ("sleep", || thread::sleep(Duration::from_millis(1))),
];

/// A ring buffer between two threads that wait for room and for items; `early`: so many items are taken for there before they are.
fn ring(items: usize, room: usize, early: usize, pause: fn()) {
    struct Ring {
        head: AtomicUsize,
        tail: AtomicUsize,
        slots: Vec<AtomicUsize>,
    }
    let slots = (0..room).map(|_| AtomicUsize::new(0)).collect();
    let ring = Arc::new(Ring { head: AtomicUsize::new(0), tail: AtomicUsize::new(early), slots });
    let theirs = ring.clone();
    let producer = thread::spawn(move || {
        for item in 0..items {
            while item - theirs.head.load(SeqCst).min(item) == room {
                pause();
            }
            theirs.slots[item % room].store(item + 1, SeqCst);
            theirs.tail.store(item + 1, SeqCst);
        }
    });
    for item in 0..items {
        while ring.tail.load(SeqCst) <= item {
            pause();
        }
        assert_eq!(ring.slots[item % room].load(SeqCst), item + 1, "an item");
        ring.head.store(item + 1, SeqCst);
    }
    producer.join().unwrap();
}

fn executions(report: &Report) -> u64 {
    report.bounds.iter().map(|bound| bound.executions).sum()
}

#[test]
fn who_only_looks_goes_round_no_more_often_than_makes_a_difference() {
    for (name, pause) in HINTS {
        let report = Builder::new().unbounded().explore(move || ring(3, 2, 0, pause));
        assert!(report.complete && report.exhausted(), "{name}: {report}");
        // Some 1,300; if such a loop went on at a cost, millions.
        assert!(executions(&report) < 4_000, "{name}: {report}");
    }
}

#[test]
fn what_goes_wrong_while_others_look_is_found_and_replayed() {
    for (name, pause) in HINTS {
        let program = move || ring(2, 1, 1, pause);
        let failure = Builder::new().explore(program).failure.expect(name);
        assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 0), "{name}: {failure}");
        let again = Builder::new().replay(failure.schedule).explore(program).failure.expect(name);
        assert_eq!(again.message, failure.message, "{name}");
    }
}

icb_std::thread_local! {
    static ROUNDS: Cell<usize> = const { Cell::new(0) };
}

/// Waits for a flag; `gives_up` says before each pause whether to go on without it, which is a mistake.
fn waits(mut gives_up: impl FnMut() -> bool, pause: fn()) {
    let flag = Arc::new(AtomicUsize::new(0));
    let theirs = flag.clone();
    let other = thread::spawn(move || theirs.store(1, SeqCst));
    while flag.load(SeqCst) == 0 && !gives_up() {
        pause();
    }
    assert_eq!(flag.load(SeqCst), 1, "given up");
    other.join().unwrap();
}

fn keeps_the_count_on_the_stack(pause: fn()) {
    let mut rounds = 0;
    waits(
        || {
            rounds += 1;
            rounds > 4
        },
        pause,
    );
}

fn keeps_the_count_on_the_heap(pause: fn()) {
    let rounds = black_box(Box::new(Cell::new(0)));
    waits(
        || {
            black_box(&rounds).set(rounds.get() + 1);
            black_box(&rounds).get() > 4
        },
        pause,
    );
}

fn keeps_the_count_of_all_threads(pause: fn()) {
    let rounds = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    waits(|| rounds.fetch_add(1, SeqCst) > 3, pause);
}

fn keeps_the_count_in_a_thread_local(pause: fn()) {
    waits(
        || {
            ROUNDS.set(ROUNDS.get() + 1);
            ROUNDS.get() > 4
        },
        pause,
    );
}

fn keeps_a_list(pause: fn()) {
    let mut list = Vec::new();
    waits(
        || {
            list.push(Box::new(1));
            list.len() > 4
        },
        pause,
    );
}

fn pauses_at_five_places(pause: fn()) {
    let flag = Arc::new(AtomicUsize::new(0));
    let theirs = flag.clone();
    let other = thread::spawn(move || theirs.store(1, SeqCst));
    let waits = || {
        let raised = flag.load(SeqCst) == 1;
        if !raised {
            pause();
        }
        raised
    };
    let raised = waits() || waits() || waits() || waits() || waits();
    assert!(raised || flag.load(SeqCst) == 1, "given up");
    other.join().unwrap();
}

fn looks_at_the_clock(pause: fn()) {
    let began = Instant::now();
    waits(|| began.elapsed() > Duration::from_millis(3), pause);
}

#[test]
fn who_counts_its_rounds_goes_on_at_a_cost() {
    type Waits = fn(fn());
    let programs: [(&str, Waits); 7] = [
        ("on the stack", keeps_the_count_on_the_stack),
        ("on the heap", keeps_the_count_on_the_heap),
        ("of all threads", keeps_the_count_of_all_threads),
        ("in a thread-local", keeps_the_count_in_a_thread_local),
        ("a list", keeps_a_list),
        ("five places", pauses_at_five_places),
        ("the clock", looks_at_the_clock),
    ];
    for (name, program) in programs {
        for (hint, pause) in HINTS {
            if name == "the clock" && hint != "sleep" {
                continue;
            }
            let report = Builder::new().max_bound(2).explore(move || program(pause));
            let failure = report.failure.unwrap_or_else(|| panic!("{name}, {hint}: nothing found"));
            assert_eq!(failure.kind, FailureKind::Panic, "{name}, {hint}: {failure}");
            assert!((1..=2).contains(&failure.bound), "{name}, {hint}: {failure}");
            let again = Builder::new().replay(failure.schedule).explore(move || program(pause)).failure;
            assert_eq!(again.map(|again| again.message), Some(failure.message), "{name}, {hint}");
        }
    }
}
