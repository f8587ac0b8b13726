//! Objects of hand-made traces, used at places of small sources, and the names that they get.

use super::super::words::{Detail, Names};
use super::*;
use crate::trace::{Failure, FailureKind, ObjectInfo, Operation, Ordering, Step, Switch};
use std::path::PathBuf;

/// A source file, and the failure of a program made of it.
struct Program {
    text: &'static str,
    directory: PathBuf,
    failure: Failure,
}

impl Program {
    fn new(name: &str, text: &'static str) -> Program {
        let directory = std::env::temp_dir().join(format!("icb-variables-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("app.rs"), text).unwrap();
        Program { text, directory, failure: Failure::new(FailureKind::Deadlock, "x") }
    }

    fn object(&mut self, number: usize, class: ObjectClass, type_name: &str) {
        self.failure.trace.objects.push(ObjectInfo {
            id: ObjectId::new(number),
            class,
            type_name: type_name.to_owned(),
            first_used_at: None,
            symbol: None,
        });
    }

    fn mutexes(&mut self, count: usize) {
        (1..=count).for_each(|number| self.object(number, ObjectClass::Mutex, "std::sync::Mutex<i64>"));
    }

    /// The place of a call whose text occurs once: of a method if it has a receiver.
    fn place(&self, call: &str) -> SourceLocation {
        assert_eq!(self.text.matches(call).count(), 1, "{call}");
        let arguments = call.rfind('(').filter(|_| call.ends_with("()")).or(call.find('('));
        let path = &call[..arguments.unwrap()];
        let at = self.text.find(call).unwrap() + path.rfind('.').map_or(0, |dot| dot + 1);
        let line = self.text[..at].matches('\n').count();
        let column = at - self.text[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
        SourceLocation { file: "app.rs".to_owned(), line: line as u32 + 1, column: column as u32 }
    }

    fn frames(&self, calls: &[&str]) -> Vec<Frame> {
        let frame = |call: &&str| Frame { function: "app::f".to_owned(), location: Some(self.place(call)) };
        calls.iter().map(frame).collect()
    }

    /// A step of a thread; the innermost call comes first.
    fn step(&mut self, thread: usize, action: Action, object: usize, calls: &[&str]) {
        let frames = self.frames(calls);
        let trace = &mut self.failure.trace;
        let first = trace.frames.len() as u32;
        let backtrace = (first..first + frames.len() as u32).collect();
        trace.steps.push(Step {
            index: trace.steps.len(),
            thread: ThreadId::new(thread),
            switch: Switch::Stay,
            operation: Operation::new(action, ObjectId::new(object)),
            early: false,
            branches: Vec::new(),
            read: None,
            written: None,
            note: None,
            location: frames[0].location.clone(),
            preempted: None,
            preempted_thread: None,
            accesses: Vec::new(),
            backtrace,
            printed_from: None,
        });
        trace.frames.extend(frames);
    }

    fn lock(&mut self, thread: usize, object: usize, calls: &[&str]) {
        self.step(thread, Action::Lock, object, calls);
    }

    /// A thread that waits for a lock of another one.
    fn waits(&mut self, thread: usize, object: usize, calls: &[&str], held_by: usize) {
        let backtrace = self.frames(calls);
        self.failure.waiting.push(DeadlockEntry {
            thread: ThreadId::new(thread),
            operation: Operation::new(Action::Lock, ObjectId::new(object)),
            location: backtrace[0].location.clone(),
            held_by: vec![ThreadId::new(held_by)],
            behind: None,
            words: format!("T{thread} waits for Mutex #{object}, held by T{held_by}"),
            backtrace,
        });
    }

    fn names(&self) -> Vec<String> {
        let roots = [self.directory.clone()];
        let sources = Sources::new(&roots);
        let names = Names::new(&self.failure, &sources);
        let objects = self.failure.trace.objects.iter();
        objects.map(|info| names.object(info.id, Detail::Full)).collect()
    }

    fn report(&self) -> String {
        let options = super::super::Options::default();
        super::super::render_with_roots(&self.failure, &options, std::slice::from_ref(&self.directory))
            .to_plain_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

const TRANSFERS: &str = "\
fn transfer(from: &Account, to: &Account, amount: i64) {
    let mut source = from.balance.lock().unwrap();
    let mut target = to.balance.lock().unwrap();
}

fn opposite() {
    thread::scope(|scope| {
        scope.spawn(|| transfer(&alice, &bob, 3));
        scope.spawn(|| transfer(&bob, &alice, 5));
        scope.spawn(|| accounts.iter().for_each(|account| transfer(account, account, 7)));
    });
}
";

#[test]
fn what_a_parameter_stands_for_is_told_by_the_caller() {
    let mut program = Program::new("transfer", TRANSFERS);
    program.mutexes(2);
    let (one, other) = ("transfer(&alice, &bob, 3)", "transfer(&bob, &alice, 5)");
    program.lock(1, 1, &["from.balance.lock()", one]);
    program.lock(2, 2, &["from.balance.lock()", other]);
    program.waits(1, 2, &["to.balance.lock()", one], 2);
    program.waits(2, 1, &["to.balance.lock()", other], 1);
    assert_eq!(program.names(), ["alice.balance", "bob.balance"]);
    let report = program.report();
    for words in [
        "lock alice.balance",
        "lock bob.balance",
        "T1 waits for bob.balance, held by T2",
        "T2 waits for alice.balance, held by T1",
        "  alice.balance  Mutex<i64> #1, first used at app.rs:2",
        "  bob.balance    Mutex<i64> #2, first used at app.rs:2",
    ] {
        assert!(report.contains(words), "{words} is missing:\n{report}");
    }
    assert!(!report.contains("lock from.") && !report.contains("for to."), "{report}");
}

#[test]
fn where_no_caller_helps_the_field_stands_with_its_number() {
    let mut program = Program::new("fields", TRANSFERS);
    program.mutexes(2);
    let each = "transfer(account, account, 7)";
    program.lock(1, 1, &["from.balance.lock()", each]);
    program.lock(1, 2, &["from.balance.lock()", each]);
    assert_eq!(program.names(), ["balance #1", "balance #2"]);
    // Without a backtrace it is the same.
    let mut program = Program::new("no-frames", TRANSFERS);
    program.mutexes(2);
    program.lock(1, 1, &["from.balance.lock()"]);
    program.lock(1, 2, &["from.balance.lock()"]);
    assert_eq!(program.names(), ["balance #1", "balance #2"]);
}

#[test]
fn a_parameter_that_is_always_the_same_is_a_name() {
    let mut program = Program::new("always", TRANSFERS);
    program.mutexes(2);
    program.lock(1, 1, &["from.balance.lock()", "transfer(&alice, &bob, 3)"]);
    program.lock(1, 2, &["to.balance.lock()", "transfer(&alice, &bob, 3)"]);
    assert_eq!(program.names(), ["from.balance", "to.balance"]);
    // Two parameters for one object: neither is right everywhere, the field is.
    let mut program = Program::new("both", TRANSFERS);
    program.mutexes(1);
    program.lock(1, 1, &["from.balance.lock()"]);
    program.lock(1, 1, &["to.balance.lock()"]);
    assert_eq!(program.names(), ["balance"]);
}

const HELPER: &str = "\
fn lock(which: &Mutex<u32>) -> MutexGuard<'_, u32> { which.lock().unwrap() }
fn helper() {
    s.spawn(|| { let _a = pair.a.lock().unwrap(); let _b = lock(&pair.b); });
    s.spawn(|| { let _b = pair.b.lock().unwrap(); let _a = lock(&pair.a); });
    s.spawn(|| { for each in &others { lock(each); } });
    let which = Mutex::new(());
    while
        which.try_lock().is_err() {}
}
";

#[test]
fn what_a_helper_calls_several_objects_is_no_name() {
    let mut program = Program::new("helper", HELPER);
    program.mutexes(2);
    program.lock(1, 1, &["pair.a.lock()"]);
    program.lock(2, 2, &["pair.b.lock()"]);
    program.waits(1, 2, &["which.lock()", "lock(&pair.b)"], 2);
    program.waits(2, 1, &["which.lock()", "lock(&pair.a)"], 1);
    assert_eq!(program.names(), ["pair.a", "pair.b"]);
    let report = program.report();
    assert!(report.contains("T2 waits for pair.a, held by T1"), "{report}");
    // Others that no caller names go by their types.
    for number in [3, 4] {
        program.object(number, ObjectClass::Mutex, "std::sync::Mutex<i64>");
        program.lock(3, number, &["which.lock()", "lock(each)"]);
    }
    assert_eq!(program.names(), ["pair.a", "pair.b", "Mutex<i64> #3", "Mutex<i64> #4"]);
    // Something else that is called so does not get their name without its number.
    program.object(5, ObjectClass::Mutex, "std::sync::Mutex<()>");
    program.step(0, Action::TryLock, 5, &["which.try_lock()"]);
    assert_eq!(program.names()[4], "which #5");
}

const TUPLES: &str = "\
impl Fut<'_> {
    fn go(&self) {
        let _x = self.0.a.lock().unwrap();
        self.0.set.load();
        self.0.lock();
    }
}
fn tuples() {
    Fut(&pair).go();
    pair.go();
}
";

#[test]
fn what_is_in_a_tuple_is_not_called_as_its_constructor() {
    let mut program = Program::new("tuples", TUPLES);
    program.mutexes(2);
    program.object(3, ObjectClass::Atomic, "AtomicBool");
    let constructed = "Fut(&pair).go()";
    program.lock(1, 1, &["self.0.a.lock()", constructed]);
    program.lock(1, 2, &["self.0.lock()", constructed]);
    program.step(1, Action::Load(Ordering::SeqCst), 3, &["self.0.set.load()", constructed]);
    assert_eq!(program.names(), ["a", "Mutex<i64> #2", "set"]);
    // Of several such the number says which.
    program.object(4, ObjectClass::Atomic, "AtomicBool");
    program.step(1, Action::Load(Ordering::SeqCst), 4, &["self.0.set.load()", constructed]);
    assert_eq!(program.names(), ["a", "Mutex<i64> #2", "set #3", "set #4"]);
    // A wrapper is called as whoever calls it does.
    program.lock(2, 2, &["self.0.lock()", "pair.go()"]);
    assert_eq!(program.names()[1], "pair");
}

#[test]
fn elements_keep_the_name_of_what_they_are_in() {
    let text = "fn f() {\n    slots[i].lock();\n    let lock = &slots[0];\n    lock.lock();\n}\n";
    let mut program = Program::new("elements", text);
    program.mutexes(2);
    program.lock(0, 1, &["slots[i].lock()"]);
    program.lock(0, 2, &["slots[i].lock()"]);
    assert_eq!(program.names(), ["slots[…] #1", "slots[…] #2"]);
    program.lock(0, 1, &["lock.lock()"]);
    assert_eq!(program.names(), ["lock", "slots[…] #2"]);
    // Callers do not say which element it is.
    let text = "fn f(&self) {\n    self.slots[i].lock();\n}\nfn g() {\n    mine.f();\n    theirs.f();\n}\n";
    let mut program = Program::new("elements-of-callers", text);
    program.mutexes(2);
    for (object, caller) in [(1, "mine.f()"), (2, "mine.f()"), (1, "theirs.f()")] {
        program.lock(0, object, &["self.slots[i].lock()", caller]);
    }
    assert_eq!(program.names(), ["slots[…] #1", "slots[…] #2"]);
}

const SEMAPHORE: &str = "\
fn acquire(&self) {
    let gate = self.gate.lock().unwrap();
    drop(self.freed.wait(gate).unwrap());
}
fn release(&self) {
    self.permits.fetch_add(1);
    self.freed.notify_one();
}
";

#[test]
fn first_used_is_where_the_first_step_is_taken() {
    let mut program = Program::new("semaphore", SEMAPHORE);
    program.object(1, ObjectClass::Condvar, "std::sync::Condvar");
    program.object(2, ObjectClass::Mutex, "std::sync::Mutex<()>");
    // It was seen there first, before another thread went on.
    program.failure.trace.objects[0].first_used_at = Some(program.place("self.freed.wait(gate)"));
    program.failure.trace.objects[1].first_used_at = Some(program.place("self.freed.wait(gate)"));
    program.step(1, Action::NotifyOne, 1, &["self.freed.notify_one()"]);
    program.step(2, Action::Wait { timed: false }, 1, &["self.freed.wait(gate)"]);
    program.waits(1, 2, &["self.gate.lock()"], 2);
    let report = program.report();
    for words in ["freed  Condvar #1, first used at app.rs:7", "gate   Mutex<()> #2, first used at app.rs:2"]
    {
        assert!(report.contains(words), "{words} is missing:\n{report}");
    }
}

#[test]
fn the_name_that_fits_most_lines_is_taken() {
    let text = "\
impl Semaphore {
    fn acquire(&self) { self.freed.wait(gate); }
}
impl Drop for Permit {
    fn drop(&mut self) { self.of.freed.notify_one(); }
}
";
    let mut program = Program::new("endings", text);
    program.object(1, ObjectClass::Condvar, "std::sync::Condvar");
    program.step(1, Action::NotifyOne, 1, &["self.of.freed.notify_one()"]);
    program.step(1, Action::NotifyOne, 1, &["self.of.freed.notify_one()"]);
    program.step(2, Action::Wait { timed: false }, 1, &["self.freed.wait(gate)"]);
    assert_eq!(program.names(), ["freed"]);
    program.object(2, ObjectClass::Condvar, "std::sync::Condvar");
    program.step(2, Action::Wait { timed: false }, 2, &["self.freed.wait(gate)"]);
    assert_eq!(program.names(), ["of.freed", "freed #2"]);
}

/// All that is said of objects in the sources above, in some order.
#[test]
fn no_two_objects_ever_have_the_same_name() {
    const USES: [&[&str]; 11] = [
        &["which.lock()", "lock(&pair.b)"],
        &["which.lock()", "lock(&pair.a)"],
        &["which.lock()", "lock(each)"],
        &["which.lock()"],
        &["pair.a.lock()"],
        &["pair.b.lock()"],
        &["which.try_lock()"],
        &["lock(&pair.a)"],
        &["lock(&pair.b)"],
        &["lock(each)"],
        &["lock(each)", "pair.a.lock()"],
    ];
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut program = Program::new("all", HELPER);
    program.mutexes(3);
    program.object(4, ObjectClass::Count, "Arc<u8>");
    program.object(5, ObjectClass::Atomic, "AtomicBool");
    let mut named = 0;
    for _ in 0..1000 {
        program.failure.trace.steps.clear();
        program.failure.trace.frames.clear();
        for _ in 0..=draw(9) {
            program.lock(draw(3), 1 + draw(5), USES[draw(USES.len())]);
        }
        let names = program.names();
        named += names.iter().filter(|name| !name.contains('#')).count();
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        // Nor does the source give a name without a number to another object.
        for step in &program.failure.trace.steps {
            let place = step.location.as_ref().unwrap();
            let roots = [program.directory.clone()];
            let said = expression_at(place, &Sources::new(&roots)).and_then(|said| readable(&said));
            let is_count = step.operation.object == ObjectId::new(4);
            let said = said.map(|said| if is_count { format!("Arc {said}") } else { said });
            let other = |object: usize| ObjectId::new(object + 1) != step.operation.object;
            let is_others = |(object, name): (usize, &String)| other(object) && Some(name) == said.as_ref();
            assert!(!names.iter().enumerate().any(is_others), "{said:?} in {names:?}");
        }
    }
    assert!(named > 1000, "{named}");
}
