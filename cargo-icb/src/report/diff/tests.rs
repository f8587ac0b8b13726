//! Comparisons of hand-made executions.

use super::*;
use icb_core::trace::{
    Action, DeadlockEntry, FailureKind, ObjectClass, ObjectInfo, Operation, Ordering, ThreadInfo, Trace,
};

const LOAD: Action = Action::Load(Ordering::SeqCst);
const STORE: Action = Action::Store(Ordering::SeqCst);
/// Where the operation of a step stands in its line.
const COLUMN: u32 = 20;
/// Sources that name the objects of steps.
const SOURCE: &str = "\
fn both(from: &Account, to: &Account) {
      from.balance.lock();
        to.balance.lock();
}
     alice.balance.lock();
       bob.balance.lock();
";

/// Main, and two threads that it has spawned.
fn execution(kind: FailureKind) -> Failure {
    let mut failure = Failure::new(kind, "x");
    let thread = |(id, path): (usize, &str)| ThreadInfo {
        id: ThreadId::new(id),
        path: path.to_owned(),
        name: None,
        spawned_at: None,
    };
    failure.trace = Trace {
        threads: [(0, "main"), (1, "main.0"), (2, "main.1")].map(thread).to_vec(),
        ..Trace::default()
    };
    failure
}

fn with_objects(mut failure: Failure, objects: &[(ObjectClass, &str)]) -> Failure {
    let info = |(id, (class, name)): (usize, &(ObjectClass, &str))| ObjectInfo {
        id: ObjectId::new(id),
        class: *class,
        type_name: (*name).to_owned(),
        first_used_at: None,
        symbol: None,
    };
    failure.trace.objects = objects.iter().enumerate().map(info).collect();
    failure
}

fn step(failure: &mut Failure, thread: usize, action: Action, object: usize, line: u32) -> &mut Step {
    let steps = &mut failure.trace.steps;
    let thread = ThreadId::new(thread);
    let switch =
        if steps.last().is_none_or(|last| last.thread == thread) { Switch::Stay } else { Switch::Free };
    steps.push(Step {
        index: steps.len(),
        thread,
        switch,
        operation: Operation::new(action, ObjectId::new(object)),
        early: false,
        branches: Vec::new(),
        read: None,
        written: None,
        note: None,
        location: Some(SourceLocation { file: "app.rs".to_owned(), line, column: COLUMN }),
        preempted: None,
        preempted_thread: None,
        accesses: Vec::new(),
        backtrace: Vec::new(),
        printed_from: None,
    });
    steps.last_mut().unwrap()
}

fn compared(failing: &Failure, passing: &Failure, root: &Path, full: bool) -> String {
    let side =
        |failure, fails, called: &'static str| Side { title: called.to_owned(), called, failure, fails };
    let comparison = Comparison {
        left: side(failing, true, "the failing one"),
        right: side(passing, false, "the passing one"),
        same_program: true,
        root,
        full,
    };
    lines(&comparison).join("\n")
}

#[track_caller]
fn check(text: &str, words: &[&str], none: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
    for word in none {
        assert!(!text.contains(word), "{word:?} in\n{text}");
    }
}

/// Two threads lock alice's and bob's account in opposite orders: in one execution both have one, in the other the first has both.
fn transfers() -> [Failure; 2] {
    let mut failing = with_objects(
        execution(FailureKind::Deadlock),
        &[(ObjectClass::Mutex, "Mutex<i64>"), (ObjectClass::Mutex, "Mutex<i64>")],
    );
    let mut passing = failing.clone();
    step(&mut failing, 1, Action::Lock, 0, 2);
    step(&mut failing, 2, Action::Lock, 1, 2).switch = Switch::Preemption;
    for (thread, object, line) in [(1, 0, 2), (1, 1, 3), (2, 1, 2), (2, 0, 3), (0, 0, 5), (0, 1, 6)] {
        step(&mut passing, thread, Action::Lock, object, line);
    }
    for (thread, object) in [(1, 1), (2, 0)] {
        failing.waiting.push(DeadlockEntry {
            thread: ThreadId::new(thread),
            operation: Operation::new(Action::Lock, ObjectId::new(object)),
            location: Some(SourceLocation { file: "app.rs".to_owned(), line: 3, column: COLUMN }),
            held_by: Vec::new(),
            behind: None,
            words: String::new(),
            backtrace: Vec::new(),
        });
    }
    [failing, passing]
}

#[test]
fn an_object_is_the_same_whatever_it_is_called() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("app.rs"), SOURCE).unwrap();
    let kinds = [(ObjectClass::Mutex, "Mutex<i64>"), (ObjectClass::Mutex, "Mutex<i64>")];
    let mut failing = with_objects(execution(FailureKind::Panic), &kinds);
    let mut passing = failing.clone();
    step(&mut failing, 1, Action::Lock, 0, 2);
    step(&mut failing, 2, Action::Lock, 1, 3);
    // The first users are others, and so are the numbers.
    step(&mut passing, 2, Action::Lock, 0, 3);
    step(&mut passing, 1, Action::Lock, 1, 2);
    step(&mut passing, 0, Action::Lock, 1, 5);
    step(&mut passing, 0, Action::Lock, 0, 6);
    let roots = [directory.path().to_path_buf()];
    let [one, other] = [&failing, &passing].map(|failure| object_names(failure, &roots));
    let id = ObjectId::new;
    assert!(one[&id(0)] == "from.balance" && one[&id(1)] == "to.balance", "{one:?}");
    assert!(other[&id(1)] != "from.balance" || other[&id(0)] != "to.balance", "{other:?}");
    let text = compared(&failing, &passing, directory.path(), true);
    check(&text, &["2 T0 lock from.balance", "3 T0 lock to.balance"], &["alice", "bob", "another"]);
    for (lock, times) in [("T1 lock from.balance", 2), ("T2 lock to.balance", 2)] {
        assert_eq!(text.matches(lock).count(), times, "{lock} in\n{text}");
    }
}

#[test]
fn what_a_preempted_thread_waits_for_is_told() {
    let [mut failing, passing] = transfers();
    let nowhere = Path::new("/nowhere");
    let text = compared(&failing, &passing, nowhere, false);
    check(
        &text,
        &[
            "T1 is preempted between `lock Mutex<i64> #0` (step 0, app.rs:2) and `lock Mutex<i64> #1` (app.rs:3), which it then waits to \
             do; T2 goes on.",
            "There the passing one: T1 goes on with `lock Mutex<i64> #1` (step 1, app.rs:3).",
        ],
        &[],
    );
    failing.waiting.clear();
    let text = compared(&failing, &passing, nowhere, false);
    check(
        &text,
        &["T1 is preempted after `lock Mutex<i64> #0` (step 0, app.rs:2), its last step; T2 goes on."],
        &[],
    );
}

#[test]
fn changed_values_are_found_in_spite_of_other_numbers() {
    let kinds = [(ObjectClass::Atomic, "AtomicUsize"), (ObjectClass::Mutex, "Mutex<()>")];
    let mut failing = with_objects(execution(FailureKind::Panic), &kinds);
    let mut passing = with_objects(execution(FailureKind::Panic), &[kinds[1], kinds[0]]);
    step(&mut failing, 1, LOAD, 0, 1).read = Some("0".to_owned());
    step(&mut failing, 2, Action::Lock, 1, 2);
    step(&mut passing, 2, Action::Lock, 0, 2);
    step(&mut passing, 1, LOAD, 1, 1).read = Some("1".to_owned());
    let text = compared(&failing, &passing, Path::new("/nowhere"), false);
    check(
        &text,
        &[
            "What that changes:",
            "T1 load AtomicUsize #0 = 0 (step 0), there load AtomicUsize #0 = 1 (step 1)",
        ],
        &["#1 = 1"],
    );
}

#[test]
fn a_preemption_is_marked_on_its_side() {
    let kinds = [(ObjectClass::Atomic, "AtomicUsize")];
    let mut failing = with_objects(execution(FailureKind::Panic), &kinds);
    step(&mut failing, 1, LOAD, 0, 1);
    step(&mut failing, 2, LOAD, 0, 2);
    let mut passing = failing.clone();
    passing.trace.steps[1].switch = Switch::Preemption;
    step(&mut passing, 2, STORE, 0, 3);
    let text = compared(&failing, &passing, Path::new("/nowhere"), false);
    check(&text, &["│▶   1 T2 load AtomicUsize #0", "│    2 T2 store AtomicUsize #0"], &["▶       1"]);
    let text = compared(&passing, &failing, Path::new("/nowhere"), false);
    check(&text, &["▶       1 T2 load AtomicUsize #0"], &["│▶"]);
}

#[test]
fn what_the_machinery_does_has_no_place() {
    let kinds = [(ObjectClass::Mutex, "Mutex<()>")];
    let mut failing = with_objects(execution(FailureKind::Panic), &kinds);
    let unlock = step(&mut failing, 1, Action::Unlock, 0, 247);
    unlock.location.as_mut().unwrap().file = "icb-std/src/sync/mutex.rs".to_owned();
    let mut passing = failing.clone();
    step(&mut passing, 1, Action::Lock, 0, 3);
    let text = compared(&failing, &passing, Path::new("/nowhere"), false);
    check(&text, &["They are alike up to `unlock Mutex<()> #0` (step 0)."], &["mutex.rs"]);
}

#[test]
fn what_is_repeated_is_folded() {
    let kinds = [(ObjectClass::Atomic, "AtomicBool"), (ObjectClass::Atomic, "AtomicUsize")];
    let mut failing = with_objects(execution(FailureKind::Livelock), &kinds);
    let mut passing = failing.clone();
    passing.kind = FailureKind::Panic;
    step(&mut passing, 1, STORE, 0, 9);
    for failure in [&mut failing, &mut passing] {
        for _ in 0..6 {
            step(failure, 2, LOAD, 1, 1);
        }
    }
    for _ in 0..5000 {
        step(&mut failing, 1, LOAD, 0, 2);
        step(&mut failing, 1, LOAD, 0, 3);
    }
    let text = compared(&failing, &passing, Path::new("/nowhere"), false);
    check(&text, &["⋮ these 2 again, 4,999 times", "… 2 steps alike"], &["another"]);
    assert!(text.lines().count() < 20, "{text}");
    let all = compared(&failing, &passing, Path::new("/nowhere"), true);
    assert!(all.lines().count() > 10_000);
    // Not quite the same again and again.
    failing.kind = FailureKind::Panic;
    let text = compared(&failing, &passing, Path::new("/nowhere"), false);
    check(&text, &["… 9,955 more steps"], &["⋮"]);
    assert!(text.lines().count() < 100, "{text}");
}

#[test]
fn one_step_is_one_step() {
    let mut failing = with_objects(execution(FailureKind::Panic), &[(ObjectClass::Atomic, "AtomicBool")]);
    for line in 1..=3 {
        step(&mut failing, 1, LOAD, 0, line);
    }
    let mut passing = failing.clone();
    step(&mut passing, 1, LOAD, 0, 4);
    let text = compared(&failing, &passing, Path::new("/nowhere"), false);
    check(&text, &["… 1 step alike"], &[]);
}

#[test]
fn an_execution_is_like_itself() {
    for mut execution in transfers() {
        step(&mut execution, 1, Action::Sleep, 0, 9).operation.object = ObjectId::NONE;
        step(&mut execution, 1, Action::Begin, 7, 9);
        for full in [false, true] {
            let text = compared(&execution, &execution, Path::new("/nowhere"), full);
            check(&text, &["The two executions are alike."], &["\n<", "\n>", "≠", "another"]);
        }
    }
}
