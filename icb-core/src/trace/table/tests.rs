//! Reports of hand-made failures, compared with the text they should give.

use super::*;
use crate::trace::{
    Action, DeadlockEntry, Explanation, FailureKind, Frame, MemoryEvent, MemoryEventKind, ObjectClass,
    ObjectId, ObjectInfo, Operation, Order, Ordering, RaceAccess, Step, ThreadInfo,
};

const T: [ThreadId; 4] = [ThreadId::new(0), ThreadId::new(1), ThreadId::new(2), ThreadId::new(3)];

fn location(line: u32) -> Option<SourceLocation> {
    Some(SourceLocation { file: "app/src/no-such-file.rs".to_owned(), line, column: 9 })
}

fn thread(id: usize, path: &str) -> ThreadInfo {
    ThreadInfo { id: ThreadId::new(id), path: path.to_owned(), name: None, spawned_at: None }
}

fn object(id: usize, class: ObjectClass, type_name: &str) -> ObjectInfo {
    ObjectInfo {
        id: ObjectId::new(id),
        class,
        type_name: type_name.to_owned(),
        first_used_at: None,
        symbol: None,
    }
}

fn step(trace: &mut Trace, thread: ThreadId, action: Action, object: usize) -> &mut Step {
    let index = trace.steps.len();
    let before = trace.steps.last().map(|step| step.thread);
    let switch = if before.is_none_or(|before| before == thread) { Switch::Stay } else { Switch::Free };
    let object = if object == usize::MAX { ObjectId::NONE } else { ObjectId::new(object) };
    trace.steps.push(Step {
        index,
        thread,
        switch,
        operation: Operation::new(action, object),
        early: false,
        branches: Vec::new(),
        read: None,
        written: None,
        note: None,
        location: location(10 + index as u32),
        preempted: None,
        preempted_thread: None,
        accesses: Vec::new(),
        backtrace: Vec::new(),
        printed_from: None,
    });
    trace.steps.last_mut().unwrap()
}

/// main and one child; the child is preempted between its load and its store.
fn lost_update() -> Failure {
    let mut trace = Trace {
        schedule: "icb1:0*2,1*2!0*2,1".parse().unwrap(),
        threads: vec![thread(0, "main"), thread(1, "main.0")],
        objects: vec![
            object(0, ObjectClass::Thread, "Thread"),
            object(1, ObjectClass::Atomic, "core::sync::atomic::AtomicUsize"),
        ],
        ..Trace::default()
    };
    let t = &mut trace;
    step(t, T[0], Action::Begin, usize::MAX).location = None;
    step(t, T[0], Action::Spawn, 0);
    step(t, T[1], Action::Begin, 0).location = None;
    step(t, T[1], Action::Load(Ordering::SeqCst), 1).read = Some("0".to_owned());
    let preempting = step(t, T[0], Action::Load(Ordering::SeqCst), 1);
    preempting.read = Some("0".to_owned());
    preempting.switch = Switch::Preemption;
    preempting.preempted_thread = Some(T[1]);
    preempting.preempted = Some(vec![
        Frame { function: "icb_std::sync::atomic::AtomicUsize::store".to_owned(), location: None },
        Frame { function: "app::count::{{closure}}::h0123456789abcdef".to_owned(), location: location(16) },
        Frame { function: "std::thread::spawn".to_owned(), location: None },
    ]);
    step(t, T[0], Action::Store(Ordering::SeqCst), 1).written = Some("1".to_owned());
    step(t, T[1], Action::Store(Ordering::SeqCst), 1).written = Some("1".to_owned());
    let mut failure =
        Failure::new(FailureKind::Panic, "assertion `left == right` failed\n  left: 1\n right: 2");
    failure.bound = 1;
    failure.execution = 7;
    failure.thread = Some(T[0]);
    failure.schedule = trace.schedule.clone();
    failure.trace = trace;
    failure
}

fn text(failure: &Failure, options: Options) -> String {
    render_with_roots(failure, &options, &[]).to_plain_string()
}

fn assert_text(actual: &str, expected: &str) {
    assert!(actual == expected, "the report changed; it is now:\n{actual}\nand was:\n{expected}");
}

#[test]
fn a_preemption_is_marked_and_explained() {
    let expected = "\
panic: assertion `left == right` failed
      left: 1
     right: 2
1 preemption, found in execution 7

     step  │ T0 main                   │ T1 main.0                 │
───────────┼───────────────────────────┼───────────────────────────┼───────────────────
         0 │ begin                     │                           │
         1 │ spawn T1                  │                           │ no-such-file.rs:11
         2 │                           │ begin                     │
         3 │                           │ load AtomicUsize #1 = 0   │ no-such-file.rs:13
▶1         │                           │ preempted by T0           │
         4 │ load AtomicUsize #1 = 0   │                           │ no-such-file.rs:14
         5 │ store AtomicUsize #1 := 1 │                           │ no-such-file.rs:15
         6 │                           │ store AtomicUsize #1 := 1 │ no-such-file.rs:16
✗          │ panic                     │                           │

Preemption 1: T1 main.0 is stopped here; T0 main goes on with step 4
     0  app::count::{closure}
          at app/src/no-such-file.rs:16:9
";
    assert_text(&text(&lost_update(), Options::default()), expected);
}

#[test]
fn narrow_columns_hold_fewer_words() {
    let rendered = text(&lost_update(), Options { width: 72, ..Options::default() });
    assert!(rendered.contains("4 │ load #1 = 0"), "{rendered}");
    assert!(rendered.lines().skip(4).all(|line| width_of(line) <= 72), "{rendered}");
}

#[test]
fn threads_share_a_column_where_there_is_no_room_for_each() {
    let expected = "\
panic: lost
1 preemption, found in execution 7

     step  │
───────────┼────────────────────────────────────────────
         0 │ T0  begin                 │
         1 │ T0  spawn T1              │ no-such-file.rs:11
         2 │ T1  begin                 │
         3 │ T1  load #1 = 0           │ no-such-file.rs:13
▶1         │ T1  preempted by T0       │
         4 │ T0  load #1 = 0           │ no-such-file.rs:14
✗          │ T0  panic: lost           │

Preemption 1: T1 main.0 is stopped here; T0 main goes on
    with step 4
    (a replay shows the backtrace)
";
    let mut failure = lost_update();
    failure.trace.steps.truncate(5);
    failure.message = "lost".to_owned();
    failure.trace.steps[4].preempted = None;
    assert_text(&text(&failure, Options { width: 60, ..Options::default() }), expected);
}

#[test]
fn private_steps_are_folded_and_shared_ones_kept() {
    let mut trace = Trace {
        threads: vec![thread(0, "main"), thread(1, "main.0")],
        objects: vec![
            object(0, ObjectClass::Thread, "Thread"),
            object(1, ObjectClass::Mutex, "Mutex<app::Queue>"),
            object(2, ObjectClass::Atomic, "AtomicBool"),
        ],
        ..Trace::default()
    };
    let t = &mut trace;
    step(t, T[0], Action::Begin, usize::MAX);
    for _ in 0..5 {
        step(t, T[0], Action::Load(Ordering::Relaxed), 2);
    }
    step(t, T[0], Action::Lock, 1);
    for _ in 0..4 {
        step(t, T[0], Action::Load(Ordering::Relaxed), 2);
    }
    step(t, T[0], Action::Unlock, 1);
    step(t, T[0], Action::Spawn, 0);
    step(t, T[1], Action::Begin, 0);
    step(t, T[1], Action::Lock, 1);
    let mut failure = Failure::new(FailureKind::StepLimit, "12 steps");
    failure.trace = trace;
    let expected = "\
step limit reached: 12 steps
0 preemptions

     step  │ T0 main                │ T1 main.0            │
───────────┼────────────────────────┼──────────────────────┼───────────────────
         0 │ begin                  │                      │ no-such-file.rs:10
           │ … 5 more steps         │                      │
         6 │ lock Mutex<Queue> #1   │                      │ no-such-file.rs:16
           │ … 4 more steps         │                      │
        11 │ unlock Mutex<Queue> #1 │                      │ no-such-file.rs:21
        12 │ spawn T1               │                      │ no-such-file.rs:22
        13 │                        │ begin                │ no-such-file.rs:23
        14 │                        │ lock Mutex<Queue> #1 │ no-such-file.rs:24
✗          │                        │ step limit reached   │
";
    assert_text(&text(&failure, Options::default()), expected);
    let full = text(&failure, Options { full: true, ..Options::default() });
    assert!(!full.contains("more steps"), "{full}");
    assert_eq!(full.matches("load(Relaxed) AtomicBool #2").count(), 9, "{full}");
}

#[test]
fn races_show_both_accesses_and_deadlocks_who_waits() {
    let mut failure = Failure::new(FailureKind::DataRace, "UnsafeCell #3 is written and read");
    let access =
        |thread, write, line| RaceAccess { location: location(line), ..RaceAccess::new(thread, write) };
    failure.race = Some(Box::new([access(T[1], true, 4), access(T[2], false, 9)]));
    failure.waiting = vec![DeadlockEntry {
        thread: T[0],
        operation: Operation::new(Action::Lock, ObjectId::new(4)),
        location: location(30),
        held_by: vec![T[2]],
        behind: None,
        words: String::new(),
        backtrace: Vec::new(),
    }];
    let expected = "\
data race: UnsafeCell #3 is written and read
0 preemptions

The two accesses, which nothing orders:
  T1 writes
          at app/src/no-such-file.rs:4:9
  T2 reads
          at app/src/no-such-file.rs:9:9

Who waits for what:
  T0 waits to lock #4, held by T2
          at app/src/no-such-file.rs:30:9
";
    assert_text(&text(&failure, Options::default()), expected);
}

#[test]
fn a_race_of_volatile_accesses_says_that_they_order_nothing() {
    let mut failure = lost_update();
    let read = |functions: &[&str]| RaceAccess {
        location: location(4),
        backtrace: functions
            .iter()
            .map(|&function| Frame { function: function.to_owned(), location: None })
            .collect(),
        ..RaceAccess::new(T[1], false)
    };
    let note = "  the access of T1 is volatile, which orders nothing";
    for (functions, expected) in [
        (&["core::ptr::read_volatile::<u64>", "app::read"][..], true),
        (&["core::ptr::const_ptr::<impl *const T>::read_volatile", "app::read"], true),
        (&["app::read", "core::ptr::read_volatile::<u64>"], false),
        (&["core::ptr::read", "app::read_volatile"], false),
    ] {
        failure.race = Some(Box::new([read(functions), RaceAccess::new(T[2], true)]));
        let shown = text(&failure, Options { width: 300, ..Options::default() });
        assert_eq!(shown.contains(note), expected, "{functions:?}\n{shown}");
    }
}

#[test]
fn of_a_line_that_is_too_long_the_place_is_seen() {
    let long = "let t = thread::spawn(move || { while !f.load(SeqCst) { thread::park(); } done.store(true, SeqCst); });";
    let quoted = |focus: usize, width: usize| {
        let mut line = Line::of("   12 │ ", Style::Dim);
        line.focus = focus;
        line.and(long, Style::Source).cut(width).to_string()
    };
    assert_eq!(quoted(8, 60), format!("   12 │ {}…", &long[..51]));
    let at = long.find("thread::park").unwrap();
    assert_eq!(quoted(at, 60), "   12 │ … while !f.load(SeqCst) { thread::park(); } done.st…");
    assert_eq!(quoted(at, 200), format!("   12 │ {long}"));
    let end = long.find("store").unwrap();
    assert!(quoted(end, 40).contains("store(true"), "{}", quoted(end, 40));
    for focus in [long.len(), 1000] {
        for width in [0, 1, 8, 9, 10, 30] {
            assert!(quoted(focus, width).chars().count() <= width.max(8), "{focus}, {width}");
        }
    }
}

#[test]
fn what_a_futex_is_made_of_is_not_spoken_of() {
    let mut failure = Failure::new(FailureKind::Deadlock, "x");
    failure.trace.objects =
        vec![object(1, ObjectClass::Condvar, "futex"), object(2, ObjectClass::Condvar, "std::sync::Condvar")];
    let waits = |thread, number| DeadlockEntry {
        thread,
        operation: Operation::new(Action::Reacquire { timed: false }, ObjectId::new(number)),
        location: location(30),
        held_by: Vec::new(),
        behind: None,
        words: format!("{thread} waits on Condvar #{number} for a notification that never comes"),
        backtrace: Vec::new(),
    };
    failure.waiting = vec![waits(T[0], 1), waits(T[1], 2)];
    let expected = "\
deadlock: x
0 preemptions

Who waits for what:
  T0 waits on futex #1 for a notification that never comes
          at app/src/no-such-file.rs:30:9
  T1 waits on Condvar #2 for a notification that never comes
          at app/src/no-such-file.rs:30:9
";
    assert_text(&text(&failure, Options::default()), expected);
    failure.message =
        "threads wait: T0 waits on Condvar #1 for a notification; T1 waits on Condvar #2, held by T0".into();
    assert_eq!(
        message(&failure),
        "threads wait: T0 waits on futex #1 for a notification; T1 waits on Condvar #2, held by T0"
    );
}

#[test]
fn what_became_of_a_block_of_memory_is_told_in_order() {
    let mut failure = Failure::new(FailureKind::UseAfterFree, "x");
    let access = |thread, frees, line| RaceAccess {
        frees,
        location: location(line),
        ..RaceAccess::new(thread, frees)
    };
    let event =
        |kind, thread, line| MemoryEvent { kind, thread, location: location(line), backtrace: Vec::new() };
    failure.race = Some(Box::new([access(T[0], false, 4), access(T[1], true, 9)]));
    failure.memory = vec![event(MemoryEventKind::Allocated, T[0], 3)];
    let unordered = "
Its use, and its end, which nothing orders:
  T0 uses it
          at app/src/no-such-file.rs:4:9
  T1 frees it
          at app/src/no-such-file.rs:9:9

The block of memory:
  T0 allocates it
          at app/src/no-such-file.rs:3:9
";
    let head = "use after free: x\n0 preemptions\n";
    assert_text(&text(&failure, Options::default()), &format!("{head}{unordered}"));
    failure.race = Some(Box::new([access(T[1], true, 9), access(T[0], false, 4)]));
    let said = text(&failure, Options::default());
    assert!(said.contains("Its end, and its use after that:\n  T1 frees it\n"), "{said}");
    failure.race = None;
    failure.memory.push(event(MemoryEventKind::UsedLast, T[1], 5));
    failure.memory.push(event(MemoryEventKind::Lost, T[1], 6));
    failure.trace.failure_backtrace = vec![Frame { function: "app::f".to_owned(), location: location(3) }];
    let said = text(&failure, Options::default());
    assert!(
        said.contains("  T1 uses it for the last time\n          at app/src/no-such-file.rs:5:9\n"),
        "{said}"
    );
    assert!(said.contains("  T1 frees the last memory known to have held a pointer to it\n"), "{said}");
    for function in ["icb_core::runtime::allocator::dealloc", "core::ptr::drop_in_place"] {
        failure.memory[2].backtrace.push(Frame { function: function.to_owned(), location: None });
    }
    let outside = text(&failure, Options::default());
    assert!(outside.contains(" held a pointer to it, outside the program's own code\n"), "{outside}");
    assert!(!outside.contains("icb_core"), "{outside}");
    assert!(!said.contains("The failure"), "{said}");
}

#[test]
fn what_is_done_in_packages_of_others_says_from_where() {
    let mut trace = Trace { threads: vec![thread(0, "main")], ..Trace::default() };
    let there =
        |line| Some(SourceLocation { file: "/x/registry/src/i/q-1.0.0/src/q.rs".into(), line, column: 1 });
    for (line, frames) in [(5, [0, 2, 3]), (6, [1, 2, 3]), (7, [0, 3, 3])] {
        let pushed = step(&mut trace, T[0], Action::Load(Ordering::Relaxed), 1);
        (pushed.location, pushed.backtrace) = (there(line), frames.to_vec());
    }
    step(&mut trace, T[0], Action::Load(Ordering::Relaxed), 1).location = location(9);
    let own = |line| Frame { function: "app::f".to_owned(), location: location(line) };
    let of_others = |line| Frame { function: "q::push".to_owned(), location: there(line) };
    trace.frames = vec![of_others(5), of_others(6), own(20), own(30)];
    let mut failure = Failure::new(FailureKind::Panic, "x");
    failure.trace = trace;
    let said = text(&failure, Options { width: 200, full: true, ..Options::default() });
    let lines: Vec<&str> = said.lines().skip_while(|line| !line.contains("┼")).skip(1).take(6).collect();
    let has = |line: &str, words: &str| assert!(line.contains(words), "{words} in\n{said}");
    let expected = ["from src/no-such-file.rs:20", ":5", ":6", "from src/no-such-file.rs:30", ":7", ":9"];
    lines.iter().zip(expected).for_each(|(line, words)| has(line, words));
    assert_eq!(said.matches("from ").count(), 2, "{said}");
}

#[test]
fn a_panic_stands_before_the_steps_of_its_unwinding() {
    let mut failure = lost_update();
    let end = |failure: &Failure, full| {
        let said = text(failure, Options { full, ..Options::default() });
        let lines: Vec<String> = said.lines().map(str::to_owned).collect();
        let at = lines.iter().position(|line| line.starts_with('✗')).unwrap();
        lines[at + 1..].iter().take_while(|line| line.contains('│')).count()
    };
    assert_eq!((end(&failure, true), end(&failure, false)), (0, 0));
    // The last step is shown in full only: it is no other thread's business.
    failure.after_steps = Some(failure.trace.steps.len() as u64 - 1);
    assert_eq!(end(&failure, true), 1);
}

#[test]
fn what_a_race_lacks_is_found_on_the_way_through_other_threads() {
    let race = |middle: Action, locks: bool| {
        let mut trace = Trace { threads: vec![thread(0, "main"), thread(1, "main.0")], ..Trace::default() };
        let t = &mut trace;
        step(t, T[0], Action::CellWrite, 1).location = location(1);
        let store = step(t, T[0], Action::Store(Ordering::Release), 2);
        (store.written, store.location) = (Some("1".to_owned()), location(2));
        let load = step(t, T[2], middle, 2);
        (load.read, load.location) = (Some("1".to_owned()), location(3));
        for (who, action, line) in [(T[2], Action::Unlock, 4), (T[1], Action::Lock, 5)] {
            if locks {
                step(t, who, action, 3).location = location(line);
            }
        }
        step(t, T[1], Action::CellRead, 1).location = location(6);
        let mut failure = Failure::new(FailureKind::DataRace, "x");
        failure.race = Some(Box::new([RaceAccess::new(T[0], true), RaceAccess::new(T[1], false)]));
        failure.trace = trace;
        text(&failure, Options { width: 200, ..Options::default() })
    };
    let said = race(Action::Load(Ordering::Relaxed), true);
    let expected = "the read of #2 at app/src/no-such-file.rs:3 is Relaxed: no happens-before from the store at \
                    app/src/no-such-file.rs:2; make it Acquire";
    assert!(said.contains(expected), "{said}");
    // What releases already is not to lose that.
    let said = race(Action::ReadModifyWrite(Ordering::Release), true);
    let expected = "the read of #2 at app/src/no-such-file.rs:3 is Release: no happens-before from the store at \
                    app/src/no-such-file.rs:2; make it AcqRel";
    assert!(said.contains(expected), "{said}");
    let said = race(Action::Load(Ordering::Relaxed), false);
    assert!(said.contains("T0 does nothing after its access that T1 sees, by itself or through"), "{said}");
}

#[test]
fn what_a_thread_goes_on_with_after_an_access_that_races_orders_nothing() {
    let mut trace = Trace { threads: vec![thread(0, "main"), thread(1, "main.0")], ..Trace::default() };
    let t = &mut trace;
    step(t, T[0], Action::Fence(Ordering::SeqCst), 0);
    step(t, T[0], Action::Store(Ordering::Relaxed), 2).written = Some("1".to_owned());
    step(t, T[1], Action::Load(Ordering::Relaxed), 2).read = Some("1".to_owned());
    step(t, T[1], Action::Fence(Ordering::SeqCst), 0);
    let mut failure = Failure::new(FailureKind::DataRace, "x");
    failure.race = Some(Box::new([RaceAccess::new(T[0], true), RaceAccess::new(T[1], false)]));
    (failure.thread, failure.after_steps, failure.trace) = (Some(T[1]), Some(3), trace);
    let said = text(&failure, Options { width: 200, full: true, ..Options::default() });
    let expected = "the read of #2 at app/src/no-such-file.rs:12 is Relaxed: no happens-before from the store at \
                    app/src/no-such-file.rs:11; make it Acquire";
    assert!(said.contains(expected), "{said}");
    let at = |words: &str| said.rfind(words).unwrap_or_else(|| panic!("{words} in\n{said}"));
    assert!(at("│ data race") < at("│ fence"), "{said}");
}

#[test]
fn what_comes_too_late_is_an_early_timeout() {
    let mut trace = Trace { schedule: "icb1:0*2?1!,1!0?1!?0?1!".parse().unwrap(), ..Trace::default() };
    let t = &mut trace;
    step(t, T[0], Action::Load(Ordering::SeqCst), 1);
    let one = step(t, T[0], Action::NotifyOne, 2);
    (one.branches, one.note) = (vec![1], Some(crate::trace::LATE.to_owned()));
    step(t, T[1], Action::Load(Ordering::SeqCst), 1);
    let all = step(t, T[0], Action::NotifyAll, 2);
    (all.switch, all.branches) = (Switch::Preemption, vec![1, 0, 1]);
    let mut failure = Failure::new(FailureKind::Panic, "x");
    failure.schedule = trace.schedule.clone();
    failure.trace = trace;
    let rendered = text(&failure, Options { width: 120, ..Options::default() });
    for words in ["notify_one #2 (too late: timed out)", "notify_all #2 (too late for 2: timed out)"] {
        assert!(rendered.contains(words), "{words} is missing:\n{rendered}");
    }
    assert!(rendered.contains("1 preemption and 3 early timeouts"), "{rendered}");
}

#[test]
fn every_unit_of_cost_has_its_number() {
    let mut trace = Trace { schedule: "icb1:0*2?1!!1,0~,0~".parse().unwrap(), ..Trace::default() };
    let t = &mut trace;
    step(t, T[0], Action::Load(Ordering::SeqCst), 1);
    let weak = Action::CompareExchange { weak: true, success: Ordering::AcqRel, failure: Ordering::Relaxed };
    let failing = step(t, T[0], weak, 1);
    failing.note = Some("fails spuriously".to_owned());
    failing.branches = vec![1];
    step(t, T[1], Action::Store(Ordering::Release), 1).switch = Switch::Preemption;
    let expiring = step(t, T[0], Action::Reacquire { timed: true }, 2);
    (expiring.early, expiring.note) = (true, Some("timed out".to_owned()));
    let waking = step(t, T[0], Action::Reacquire { timed: false }, 2);
    (waking.early, waking.note) = (true, Some("woke spuriously".to_owned()));
    let mut failure = Failure::new(FailureKind::Panic, "x");
    failure.schedule = trace.schedule.clone();
    failure.trace = trace;
    let rendered = text(&failure, Options::default());
    for line in [
        "?1       1 │",
        "▶2         │",
        "~3       3 │",
        "wake up from #2 (expires)",
        "wake up from #2 (wakes spuriously)",
        "Preemption 2: T0",
    ] {
        assert!(rendered.contains(line), "{line} is missing:\n{rendered}");
    }
    assert!(
        rendered.contains("1 preemption, 1 spurious failure, 1 early timeout and 1 spurious wake-up"),
        "{rendered}"
    );
    for said_again in ["(timed out)", "(woke spuriously)"] {
        assert!(!rendered.contains(said_again), "{rendered}");
    }
}

#[test]
fn who_has_slept_and_is_too_early_all_the_same_is_told_so() {
    let said = |actions: &[(ThreadId, Action)], order: Option<(usize, usize)>| {
        let threads = vec![thread(0, "main"), thread(1, "main.0")];
        let mut trace = Trace { schedule: "icb1:0*9".parse().unwrap(), threads, ..Trace::default() };
        for &(thread, action) in actions {
            step(&mut trace, thread, action, 1);
        }
        let orders = order.map(|(before, after)| Order { before, after, without: None });
        let orders = orders.into_iter().collect();
        let found = Explanation { orders, executions: 3, complete: true, simplified: None };
        trace.explanation = Some(Box::new(found));
        let mut failure = Failure::new(FailureKind::Panic, "assertion failed");
        failure.thread = Some(T[0]);
        failure.schedule = trace.schedule.clone();
        failure.trace = trace;
        text(&failure, Options::default())
    };
    let (main, other, load) = (T[0], T[1], Action::Load(Ordering::SeqCst));
    let store = Action::Store(Ordering::SeqCst);
    let begins = [(main, Action::Begin), (main, Action::Spawn)];
    let with = |rest: &[(ThreadId, Action)]| [&begins[..], rest].concat();
    let alone = with(&[(main, Action::Sleep), (main, load)]);
    let in_order = with(&[(main, Action::Sleep), (main, load), (other, Action::Begin), (other, store)]);
    let before_others = "It fails before any other thread has taken a step.";
    let sleeps = "A sleep orders nothing: T0 main has slept at app/src/no-such-file.rs:12";
    for (steps, order, says) in [
        (&alone, None, [true, true]),
        (&in_order, Some((3, 5)), [false, true]),
        // It is the other one that came too early.
        (
            &with(&[(other, Action::Begin), (other, store), (main, Action::Sleep), (main, load)]),
            Some((3, 5)),
            [false, false],
        ),
        // Nobody else was there.
        (&with(&[(other, Action::Begin), (main, Action::Join), (main, Action::Sleep)]), None, [false, false]),
        (&vec![(main, Action::Begin), (main, Action::Sleep), (main, Action::Spawn)], None, [true, false]),
        (&with(&[(main, load)]), None, [true, false]),
    ] {
        let said = said(steps, order);
        assert_eq!([before_others, sleeps].map(|text| said.contains(text)), says, "{said}");
    }
}

#[test]
fn a_very_long_trace_loses_its_middle_but_no_preemption() {
    let mut trace = Trace::default();
    for index in 0..3000 {
        let step = step(&mut trace, T[index / 2 % 2], Action::Load(Ordering::SeqCst), 1);
        if index == 1000 {
            step.switch = Switch::Preemption;
        }
    }
    let mut failure = Failure::new(FailureKind::StepLimit, "3000 steps");
    failure.trace = trace;
    let rendered = text(&failure, Options::default());
    assert!(rendered.contains("▶") && rendered.contains("1000 │"), "{rendered}");
    assert!(rendered.lines().count() < 450);
    assert_eq!(rendered.matches("lines not shown").count(), 2);
}

#[test]
fn what_was_printed_is_shown_from_its_end() {
    let mut failure = Failure::new(FailureKind::Panic, "x");
    assert!(!text(&failure, Options::default()).contains("Printed"));
    failure.trace.printed = (0..50).map(|number| format!("line {number}\t\u{1b}[1m\n")).collect();
    let said = text(&failure, Options::default());
    assert!(
        said.contains("\nPrinted by this execution:  (the end; --full shows 10 lines more)\n    line 10 "),
        "{said}"
    );
    assert!(!said.contains("line 9 ") && said.contains("    line 49 ") && !said.contains('\u{1b}'), "{said}");
    let said = text(&failure, Options { full: true, ..Options::default() });
    assert!(said.contains("Printed by this execution:\n    line 0 "), "{said}");
}

#[test]
fn a_loop_that_never_ends_is_shown_once() {
    let mut trace = Trace::default();
    step(&mut trace, T[0], Action::Store(Ordering::SeqCst), 1);
    for _ in 0..1000 {
        step(&mut trace, T[0], Action::Load(Ordering::SeqCst), 1).location = location(20);
        step(&mut trace, T[1], Action::Load(Ordering::SeqCst), 1).location = location(21);
        step(&mut trace, T[1], Action::Store(Ordering::SeqCst), 1).location = location(22);
    }
    step(&mut trace, T[0], Action::Load(Ordering::SeqCst), 1).location = location(20);
    let mut failure = Failure::new(FailureKind::StepLimit, "x");
    failure.trace = trace;
    let said = text(&failure, Options::default());
    assert!(said.contains("these 3 steps again and again, 999 times more"), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("no-such-file.rs:2")).count(), 3, "{said}");
    let said = text(&failure, Options { full: true, ..Options::default() });
    assert_eq!(said.lines().filter(|line| line.contains("no-such-file.rs:2")).count(), 3001);
    // Of what ends, each step counts.
    failure.kind = FailureKind::Panic;
    assert!(!text(&failure, Options::default()).contains("again and again"));
}

#[test]
fn what_was_printed_stands_in_the_column_of_its_thread() {
    let mut trace = Trace::default();
    for (index, from) in [6, 6, 12, 18].into_iter().enumerate() {
        step(&mut trace, T[index % 2], Action::Load(Ordering::SeqCst), 1).printed_from = Some(from);
    }
    trace.take_printed(b"start\nfirst\nother\nlast\n", 1000);
    let shown = |trace: &Trace| {
        let positions = 0..trace.steps.len();
        [trace.printed_before()]
            .into_iter()
            .chain(positions.map(|position| trace.printed_after(position)))
            .collect::<Vec<_>>()
            .join("|")
    };
    assert_eq!(shown(&trace), "start\n||first\n|other\n|last\n");
    let mut failure = Failure::new(FailureKind::Panic, "x");
    failure.trace = trace;
    let said = text(&failure, Options::default());
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("│ » ")).collect();
    let column = |line: &str| line.split('│').position(|cell| cell.starts_with(" » "));
    assert_eq!(lines.iter().map(|line| column(line)).collect::<Vec<_>>(), [1, 2, 1, 2].map(Some), "{said}");
    assert!(!said.contains("Printed by this execution"), "{said}");
    // What is too long for its column stands below as well.
    failure.trace.printed.push_str(&"long ".repeat(60));
    assert!(text(&failure, Options::default()).contains("Printed by this execution:\n    start\n"));
}

#[test]
fn of_much_that_was_printed_the_end_is_kept() {
    let mut trace = Trace::default();
    for (index, from) in [0, 5, 14, 99].into_iter().enumerate() {
        step(&mut trace, T[index % 2], Action::Load(Ordering::SeqCst), 1).printed_from = Some(from);
    }
    trace.take_printed(b"0123\n567\n\xFFabc\nxyz\n", 16);
    assert_eq!(trace.printed, "567\n\u{FFFD}abc\nxyz\n");
    let after: Vec<&str> = (0..4).map(|position| trace.printed_after(position)).collect();
    assert_eq!((trace.printed_before(), &after[..]), ("", &["", "567\n\u{FFFD}abc\n", "xyz\n", ""][..]));
}
