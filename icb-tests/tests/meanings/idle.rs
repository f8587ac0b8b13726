//! Loops that only look: a thread that provably does the same again waits until something is changed, and one that may be counting its rounds,
//! wherever it keeps the count, goes on at a cost.

use icb_std::hint::spin_loop;
use icb_std::model::{Builder, FailureKind, Reduction, Report};
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex, RwLock};
use icb_std::thread;
use icb_std::time::Instant;
use std::cell::Cell;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Duration;

const HINTS: [(&str, fn()); 4] = [
    ("spin_loop", spin_loop),
    ("yield_now", thread::yield_now),
    ("sleep", || thread::sleep(Duration::from_millis(1))),
    ("no hint", || ()),
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

/// Waits for one thing after another with a register that counts them, and looks more than once each time.
fn looks_again(things: usize, pause: fn()) {
    let done = Arc::new(AtomicUsize::new(0));
    let theirs = done.clone();
    let other = thread::spawn(move || {
        for thing in 0..things {
            while theirs.load(SeqCst) <= thing {
                pause();
            }
        }
    });
    for thing in 0..things {
        done.store(thing + 1, SeqCst);
    }
    other.join().unwrap();
}

#[test]
fn who_has_counted_waits_all_the_same_while_it_does_not() {
    for (name, pause) in HINTS {
        let report = Builder::new().unbounded().explore(move || looks_again(4, pause));
        assert!(report.complete && report.exhausted(), "{name}: {report}");
        assert!(executions(&report) < 5_000, "{name}: {report}");
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

fn keeps_the_count_on_another_stack(pause: fn()) {
    let flag = AtomicUsize::new(0);
    let mut rounds = 0;
    thread::scope(|scope| {
        let rounds = black_box(&mut rounds);
        let looks = &flag;
        scope.spawn(move || {
            while looks.load(SeqCst) == 0 {
                *black_box(&mut *rounds) += 1;
                assert!(*rounds <= 4, "given up");
                pause();
            }
        });
        scope.spawn(|| flag.store(1, SeqCst));
    });
}

fn keeps_the_count_in_a_static(pause: fn()) {
    static ROUNDS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    ROUNDS.store(0, SeqCst);
    waits(|| ROUNDS.fetch_add(1, SeqCst) > 3, pause);
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
    let programs: [(&str, Waits); 9] = [
        ("on the stack", keeps_the_count_on_the_stack),
        ("on the heap", keeps_the_count_on_the_heap),
        ("of all threads", keeps_the_count_of_all_threads),
        ("in a thread-local", keeps_the_count_in_a_thread_local),
        ("a list", keeps_a_list),
        ("on another stack", keeps_the_count_on_another_stack),
        ("in a static", keeps_the_count_in_a_static),
        ("five places", pauses_at_five_places),
        ("the clock", looks_at_the_clock),
    ];
    for (name, program) in programs {
        for (hint, pause) in HINTS {
            let has_time = hint == "sleep";
            // Other tests run in this process: what stands in its statics says nothing for sure, and without a pause it has to.
            let has_pauses = hint != "no hint";
            if (name == "the clock" && !has_time)
                || (matches!(name, "five places" | "in a static") && !has_pauses)
            {
                continue;
            }
            let report = Builder::new().max_bound(2).explore(move || program(pause));
            let failure = report.failure.unwrap_or_else(|| panic!("{name}, {hint}: nothing found"));
            assert_eq!(failure.kind, FailureKind::Panic, "{name}, {hint}: {failure}");
            // Without a hint nobody is let in before it gives up.
            let bounds = if hint == "no hint" { 0..=0 } else { 1..=2 };
            assert!(bounds.contains(&failure.bound), "{name}, {hint}: {failure}");
            let again = Builder::new().replay(failure.schedule).explore(move || program(pause)).failure;
            assert_eq!(again.map(|again| again.message), Some(failure.message), "{name}, {hint}");
        }
    }
}

/// A lock whose holder may be kept waiting: the others look whether it is free, and do nothing else.
fn spin_lock(threads: usize, take: fn(&AtomicUsize) -> bool) {
    let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let work = move |(lock, count): &(AtomicUsize, AtomicUsize)| {
        while !take(lock) {}
        let value = count.load(SeqCst);
        count.store(value + 1, SeqCst);
        lock.store(0, SeqCst);
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let theirs = shared.clone();
            thread::spawn(move || work(&theirs))
        })
        .collect();
    work(&shared);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(shared.1.load(SeqCst), threads, "one at a time");
}

/// It takes what it looks at to be free, and takes it in a step of its own.
fn take_in_two_steps(lock: &AtomicUsize) -> bool {
    let is_free = lock.load(SeqCst) == 0;
    if is_free {
        lock.store(1, SeqCst);
    }
    is_free
}

#[test]
fn loops_without_a_hint_are_seen_to_wait() {
    type Take = fn(&AtomicUsize) -> bool;
    let ways: [(&str, Take); 3] = [
        ("swap", |lock| lock.swap(1, SeqCst) == 0),
        ("exchange", |lock| lock.compare_exchange(0, 1, SeqCst, SeqCst).is_ok()),
        ("look first", |lock| lock.load(SeqCst) == 0 && lock.swap(1, SeqCst) == 0),
    ];
    for (name, take) in ways {
        let report = Builder::new().max_bound(3).explore(move || spin_lock(3, take));
        assert!(report.failure.is_none() && report.complete, "{name}: {report}");
        // Some 800; where each loop goes round 48 times before it is taken to wait, tens of thousands.
        assert!(executions(&report) < 2_000, "{name}: {report}");
    }
    let wrong = Builder::new().max_bound(3).explore(|| spin_lock(3, take_in_two_steps));
    let failure = wrong.failure.expect("two at a time");
    // One to take it where it seems free, one to come in the way of what it is for.
    assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 2), "{failure}");
    let again = Builder::new().replay(failure.schedule).explore(|| spin_lock(3, take_in_two_steps));
    assert_eq!(again.failure.map(|again| again.message), Some(failure.message));
}

#[test]
fn who_waits_without_a_hint_for_what_never_comes_is_a_livelock() {
    let report = Builder::new().explore(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        let other = thread::spawn(move || while theirs.load(SeqCst) == 0 {});
        while flag.load(SeqCst) == 0 {}
        other.join().unwrap();
    });
    let failure = report.failure.expect("nobody raises it");
    assert_eq!((failure.kind, failure.bound), (FailureKind::Livelock, 0), "{failure}");
}

/// What somebody holds for a moment, without changing what it guards; and whether it can be had.
trait Held: Send + Sync + 'static {
    fn hold(&self);
    fn can_be_had(&self) -> bool;
}

impl Held for Mutex<()> {
    fn hold(&self) {
        drop(self.lock().unwrap());
    }
    fn can_be_had(&self) -> bool {
        self.try_lock().is_ok()
    }
}

/// Held by a reader.
struct Read(RwLock<()>);

impl Held for Read {
    fn hold(&self) {
        drop(self.0.read().unwrap());
    }
    fn can_be_had(&self) -> bool {
        self.0.try_write().is_ok()
    }
}

/// Held by a writer.
struct Written(RwLock<()>);

impl Held for Written {
    fn hold(&self) {
        drop(self.0.write().unwrap());
    }
    fn can_be_had(&self) -> bool {
        self.0.try_read().is_ok()
    }
}

/// Who has tried in vain for long may get it right when it is let go, before anything else is done.
fn gets_it_at_once(held: impl Held, pause: fn()) {
    let shared = Arc::new((held, AtomicUsize::new(0)));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        theirs.0.hold();
        theirs.1.store(1, SeqCst);
    });
    let mut tries = 0;
    while !shared.0.can_be_had() {
        // No count of what comes after that: whoever tries does the same again.
        tries = 6.min(tries + 1);
        pause();
    }
    assert!(tries < 5 || shared.1.load(SeqCst) == 1, "at once");
    other.join().unwrap();
}

#[test]
fn who_tries_in_vain_is_told_when_a_lock_is_let_go() {
    type Program = fn(fn());
    let programs: [(&str, Program); 3] = [
        ("mutex", |pause| gets_it_at_once(Mutex::new(()), pause)),
        ("reader", |pause| gets_it_at_once(Read(RwLock::new(())), pause)),
        ("writer", |pause| gets_it_at_once(Written(RwLock::new(())), pause)),
    ];
    for (name, program) in programs {
        for (hint, pause) in HINTS {
            let report = Builder::new().max_bound(4).explore(move || program(pause));
            let failure = report.failure.unwrap_or_else(|| panic!("{name}, {hint}: nothing found"));
            assert_eq!(failure.kind, FailureKind::Panic, "{name}, {hint}: {failure}");
            let again = Builder::new().replay(failure.schedule).explore(move || program(pause)).failure;
            assert_eq!(again.map(|again| again.message), Some(failure.message), "{name}, {hint}");
        }
    }
}

/// Several who look at something under a lock, again and again, are no change for each other that would keep them going for ever.
#[test]
fn who_looks_under_a_lock_lets_others_in() {
    let report = Builder::new().max_bound(0).explore(|| {
        let ready = Arc::new(Mutex::new(false));
        let looks = |ready: &Mutex<bool>| {
            while !*ready.lock().unwrap() {
                thread::yield_now();
            }
        };
        let (theirs, last) = (ready.clone(), ready.clone());
        let second = thread::spawn(move || looks(&theirs));
        let other = thread::spawn(move || *last.lock().unwrap() = true);
        looks(&ready);
        second.join().unwrap();
        other.join().unwrap();
    });
    assert!(report.failure.is_none() && report.complete, "{report}");
}

/// A pause in a function of its own: what stands on its stack, where it has not written, the engine has left there.
#[inline(never)]
fn pauses_further_down() {
    let mut unwritten = MaybeUninit::<[usize; 24]>::uninit();
    black_box(&mut unwritten);
    spin_loop();
    black_box(&mut unwritten);
}

/// A lock for readers and writers. A writer that has seen another one leaves no mark; when that one has gone, and a reader has come, the reader does not
/// know that it is to say when it leaves.
#[derive(Default)]
struct Forgetful {
    state: AtomicUsize,
    left: AtomicUsize,
}

impl Forgetful {
    fn read(&self, pause: fn()) {
        let mut state = self.state.load(SeqCst);
        loop {
            if state & 1 == 0 {
                match self.state.compare_exchange(state, state + 2, SeqCst, SeqCst) {
                    Ok(_) => break,
                    Err(now) => state = now,
                }
            }
            if state & 1 == 1 {
                while self.state.load(SeqCst) == state {
                    pause();
                }
                state = self.state.load(SeqCst);
            }
        }
        if self.state.fetch_sub(2, SeqCst) == 3 {
            self.left.fetch_add(1, SeqCst);
        }
    }

    fn write(&self, pause: fn()) {
        let mut state = self.state.load(SeqCst);
        loop {
            let wanted = if state <= 1 { usize::MAX } else { state | 1 };
            if state <= 1 || state & 1 == 0 {
                match self.state.compare_exchange(state, wanted, SeqCst, SeqCst) {
                    Ok(_) if state <= 1 => break,
                    Ok(_) => {}
                    Err(now) => {
                        state = now;
                        continue;
                    }
                }
            }
            let left = self.left.load(SeqCst);
            state = self.state.load(SeqCst);
            if state >= 2 {
                while self.left.load(SeqCst) == left {
                    pause();
                }
                state = self.state.load(SeqCst);
            }
        }
        self.state.store(0, SeqCst);
        self.left.fetch_add(1, SeqCst);
    }
}

#[test]
fn what_the_engine_leaves_on_the_stack_makes_no_difference() {
    for (name, pause) in [("here", spin_loop as fn()), ("further down", pauses_further_down)] {
        for reduction in [Reduction::PartialOrder, Reduction::Visited, Reduction::None] {
            let report = Builder::new().max_bound(3).reduction(reduction).explore(move || {
                let lock = Arc::new(Forgetful::default());
                let (written, read) = (lock.clone(), lock.clone());
                let writer = thread::spawn(move || written.write(pause));
                let reader = thread::spawn(move || read.read(pause));
                lock.write(pause);
                writer.join().unwrap();
                reader.join().unwrap();
            });
            let failure = report.failure.expect(name);
            assert_eq!((failure.kind, failure.bound), (FailureKind::Livelock, 3), "{name}: {failure}");
        }
    }
}
