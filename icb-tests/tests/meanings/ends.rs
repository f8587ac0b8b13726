//! How executions end: panics, deadlocks, step limits, stack overflows; and what is said about them.

use crate::{check_verdicts, failure, plain, run_alone, verdict};
use icb_std::model::{FailureKind, ThreadId, choose};
use icb_std::panic::resume_unwind;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use icb_std::thread;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_panic_is_a_failure_unless_somebody_takes_note() {
    let panics = Some((FailureKind::Panic, 0));
    check_verdicts(
        &plain(),
        &[
            ("in the test closure", || panic!("told"), panics),
            ("caught", || drop(catch_unwind(|| panic!("caught"))), None),
            ("joined", || drop(thread::spawn(|| panic!("joined")).join()), None),
            ("joined and unwrapped", || thread::spawn(|| panic!("told")).join().unwrap(), panics),
            ("detached", || drop(thread::spawn(|| panic!("told"))), panics),
            (
                "joined by nobody",
                || {
                    let parent = thread::spawn(|| drop(thread::spawn(|| panic!("told"))));
                    parent.join().unwrap();
                },
                panics,
            ),
            (
                "in a scope, joined",
                || {
                    thread::scope(|scope| assert!(scope.spawn(|| panic!("joined")).join().is_err()));
                },
                None,
            ),
            (
                "in a scope, joined by the scope",
                || {
                    thread::scope(|scope| drop(scope.spawn(|| panic!("told"))));
                },
                panics,
            ),
            (
                "in a thread-local destructor",
                || {
                    struct Bad;
                    impl Drop for Bad {
                        fn drop(&mut self) {
                            panic!("told");
                        }
                    }
                    icb_std::thread_local!(static BAD: Bad = const { Bad });
                    drop(thread::spawn(|| BAD.with(|_| ())).join());
                },
                panics,
            ),
        ],
    );
}

#[test]
fn what_the_test_panics_with_after_a_thread_is_told_as_well() {
    let afterwards = |program: fn()| {
        let failure = failure(&plain().explore(program)).clone();
        assert_eq!((failure.message.as_str(), failure.thread), ("first", Some(ThreadId::new(1))));
        failure.afterwards.unwrap_or_default()
    };
    let said = afterwards(|| {
        let joined = thread::spawn(|| panic!("first")).join();
        assert!(joined.is_ok(), "expected by nobody");
    });
    assert!(said.starts_with("T0 panicked at ") && said.ends_with(": expected by nobody"), "{said}");
    for only_that in [
        || thread::spawn(|| panic!("first")).join().unwrap(),
        || thread::spawn(|| panic!("first")).join().expect("it ends"),
        || thread::spawn(|| panic!("first")).join().unwrap_or_else(|panic| resume_unwind(panic)),
        || thread::scope(|scope| drop(scope.spawn(|| panic!("first")))),
    ] {
        assert_eq!(afterwards(only_that), "");
    }
    // One that was expected, and the test went on: then it is the other one that counts.
    let report = plain().explore(|| {
        assert!(thread::spawn(|| panic!("first")).join().is_err());
        thread::spawn(|| ()).join().unwrap();
        thread::yield_now();
        panic!("second");
    });
    let failure = failure(&report);
    assert_eq!((failure.message.as_str(), failure.thread), ("second", Some(ThreadId::new(0))));
    assert!(failure.before.len() == 1 && failure.before[0].starts_with("T1 panicked at "), "{failure:?}");
}

/// Of several threads that have panicked, the one is told whose panic the test has come upon.
#[test]
fn the_panic_is_told_that_the_test_came_upon() {
    let told = |program: fn()| failure(&plain().explore(program)).message.clone();
    let taken = || {
        let taken = thread::spawn(|| panic!("as planned"));
        assert!(taken.join().is_err());
    };
    assert_eq!(told(|| thread::spawn(|| panic!("first")).join().unwrap()), "first");
    let two: fn() = || {
        let (first, second) = (thread::spawn(|| panic!("as planned")), thread::spawn(|| panic!("bad")));
        assert!(first.join().is_err());
        second.join().unwrap();
    };
    assert_eq!(told(two), "bad");
    let through_a_third: fn() = || {
        let first = thread::spawn(|| panic!("as planned"));
        assert!(first.join().is_err());
        thread::spawn(|| thread::spawn(|| panic!("bad")).join().unwrap()).join().unwrap();
    };
    assert_eq!(told(through_a_third), "bad");
    let in_a_scope: fn() = || {
        thread::scope(|scope| {
            assert!(scope.spawn(|| panic!("as planned")).join().is_err());
            scope.spawn(|| panic!("bad")).join().unwrap();
        });
    };
    assert_eq!(told(in_a_scope), "bad");
    let where_a_scope_ends: fn() = || {
        thread::scope(|scope| {
            assert!(scope.spawn(|| panic!("as planned")).join().is_err());
            scope.spawn(|| panic!("bad"));
        });
    };
    assert_eq!(told(where_a_scope_ends), "bad");
    assert!(plain().explore(taken).failure.is_none());
}

#[test]
fn who_has_panicked_before_a_deadlock_is_told() {
    let before = |program: fn()| {
        let failure = failure(&plain().explore(program)).clone();
        assert_eq!(failure.kind, FailureKind::Deadlock);
        failure.before
    };
    let waits_for_nobody = || {
        let done = (Mutex::new(false), Condvar::new());
        let mut guard = done.0.lock().unwrap();
        while !*guard {
            guard = done.1.wait(guard).unwrap();
        }
    };
    assert_eq!(before(waits_for_nobody), [""; 0]);
    // A worker dies, and does not count its job.
    let said = before(|| {
        let done = Arc::new((Mutex::new(0), Condvar::new()));
        for job in ["first", "second"] {
            let done = done.clone();
            thread::spawn(move || {
                let _done = done;
                panic!("{job}");
            });
        }
        let mut guard = done.0.lock().unwrap();
        while *guard < 2 {
            guard = done.1.wait(guard).unwrap();
        }
    });
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("T1 panicked at ") && said[0].ends_with(": first"), "{said:?}");
    assert!(said[1].starts_with("T2 panicked at ") && said[1].ends_with(": second"), "{said:?}");
    // The test itself has failed, and its scope waits for who waits for it.
    let said = before(|| {
        let (sender, receiver) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || while receiver.recv().is_ok() {});
            assert!(sender.send(()).is_err(), "it is received");
        });
    });
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("T0 panicked at ") && said[0].ends_with(": it is received"), "{said:?}");
}

#[test]
fn the_first_panic_is_told_with_its_place() {
    let report = plain().explore(|| thread::spawn(|| panic!("the cause")).join().unwrap());
    let failure = failure(&report);
    assert_eq!((failure.message.as_str(), failure.thread), ("the cause", Some(ThreadId::new(1))));
    let location = failure.location.as_ref().expect("a place");
    assert!(location.file.ends_with("meanings/ends.rs"), "{location}");
    assert!(!failure.trace.failure_backtrace.is_empty());
}

#[test]
fn a_panic_that_nobody_joins_is_a_failure_unless_it_is_allowed() {
    fn ends(joined: bool) {
        let (sender, receiver) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            let _sender = sender;
            panic!("in a worker");
        });
        assert!(receiver.recv().is_err());
        if joined {
            assert!(other.join().is_err());
        }
    }
    let report = plain().explore(|| ends(false));
    let told = failure(&report);
    assert_eq!((told.message.as_str(), told.unjoined), ("in a worker", true));
    for joined in [false, true] {
        let report = plain().allow_unjoined_panics(true).explore(move || ends(joined));
        assert!(report.complete && report.failure.is_none(), "{:?}", report.failure);
    }
    assert!(plain().explore(|| ends(true)).failure.is_none());
    // What leaves the test itself is one in any case.
    let report = plain().allow_unjoined_panics(true).explore(|| panic!("in the test"));
    assert_eq!((failure(&report).message.as_str(), failure(&report).unjoined), ("in the test", false));
}

/// No hook is told of it.
#[test]
fn a_panic_that_is_thrown_again_is_one() {
    fn thrown_again() {
        let lock = Arc::new(Mutex::new(()));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            let first = catch_unwind(|| panic!("the first")).unwrap_err();
            drop(catch_unwind(|| panic!("the second")));
            let _guard = theirs.lock().unwrap();
            assert!(!thread::panicking());
            resume_unwind(first);
        });
        let payload = other.join().unwrap_err();
        assert!(lock.is_poisoned());
        assert_eq!(payload.downcast_ref(), Some(&"the first"));
        resume_unwind(payload);
    }
    let report = plain().explore(thrown_again);
    let told = failure(&report);
    assert_eq!((told.kind, told.message.as_str()), (FailureKind::Panic, "the first"));
    let report = plain().explore(|| resume_unwind(Box::new(1)));
    let own = failure(&report);
    assert_eq!((own.kind, own.message.as_str()), (FailureKind::Panic, "a panic whose payload is no text"));
    assert!(own.location.as_ref().unwrap().file.ends_with("ends.rs"));
}

/// A thread that has panicked does not unwind any more when its own values go, whoever else is in the middle of that.
#[test]
fn a_panic_is_over_for_whoever_has_caught_it() {
    struct Locks(Arc<Mutex<()>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    struct Twice(Arc<AtomicUsize>);
    impl Drop for Twice {
        fn drop(&mut self) {
            assert!(!thread::panicking());
            self.0.fetch_add(1, SeqCst);
            self.0.fetch_add(1, SeqCst);
        }
    }
    icb_std::thread_local!(static OWN: RefCell<Option<Twice>> = const { RefCell::new(None) });
    let report = plain().explore(|| {
        let (lock, number) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
        let guard = lock.lock();
        let locks = Locks(lock.clone());
        let first = thread::spawn(move || {
            let _locks = locks;
            panic!("and waits");
        });
        thread::yield_now();
        assert!(icb_std::panic::catch_unwind(|| panic!("meanwhile")).is_err());
        assert!(!thread::panicking());
        let twice = Twice(number.clone());
        let second = thread::spawn(move || {
            OWN.set(Some(twice));
            panic!("and does not wait");
        });
        let seen = number.load(SeqCst);
        assert!(second.join().is_err());
        drop(guard);
        assert!(first.join().is_err() && !lock.is_poisoned());
        assert_ne!(seen, 1, "in between");
    });
    assert_eq!(
        failure(&report).message,
        "assertion `left != right` failed: in between\n  left: 1\n right: 1"
    );
}

/// A scope waits for its threads when its closure has panicked, and goes on with the panic then.
#[test]
fn a_panic_goes_on_through_a_scope() {
    struct Asks<'a>(&'a AtomicUsize);
    impl Drop for Asks<'_> {
        fn drop(&mut self) {
            self.0.store(1 + usize::from(thread::panicking()), SeqCst);
        }
    }
    let report = plain().explore(|| {
        let (mutex, lock, once, asked) = (Mutex::new(()), RwLock::new(()), Once::new(), AtomicUsize::new(0));
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let (_mutex, _lock, _asks) = (mutex.lock().unwrap(), lock.write().unwrap(), Asks(&asked));
            once.call_once(|| {
                thread::scope(|scope| {
                    scope.spawn(thread::yield_now);
                    panic!("in the scope");
                });
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"in the scope"));
        assert!(mutex.is_poisoned() && lock.is_poisoned());
        assert_eq!(asked.load(SeqCst), 2);
        once.call_once_force(|state| assert!(state.is_poisoned()));
        assert!(!thread::panicking());
    });
    assert!(report.complete, "{:?}", report.failure);
    let report = plain().explore(|| thread::scope(|_| panic!("in the scope")));
    let told = failure(&report);
    assert_eq!((told.kind, told.message.as_str()), (FailureKind::Panic, "in the scope"));
    assert!(told.location.as_ref().unwrap().file.ends_with("ends.rs"));
}

#[test]
fn a_panicking_thread_poisons_what_it_holds() {
    let report = plain().explore(|| {
        let shared = Arc::new((Mutex::new(1), RwLock::new(1), Once::new()));
        let theirs = shared.clone();
        let joined = thread::spawn(move || {
            let _mutex = theirs.0.lock().unwrap();
            let _lock = theirs.1.write().unwrap();
            theirs.2.call_once(|| panic!("while it holds them"));
        });
        let message = joined.join().unwrap_err();
        assert_eq!(message.downcast_ref(), Some(&"while it holds them"));
        assert!(shared.0.is_poisoned() && shared.1.is_poisoned());
        assert_eq!(*shared.0.lock().unwrap_err().into_inner(), 1);
        assert_eq!(*shared.1.read().unwrap_err().into_inner(), 1);
        assert!(catch_unwind(AssertUnwindSafe(|| shared.2.call_once(|| ()))).is_err());
        shared.2.call_once_force(|state| assert!(state.is_poisoned()));
        assert!(shared.2.is_completed());
    });
    assert!(report.complete, "{:?}", report.failure);
}

/// While a thread unwinds nobody else runs: other threads see its destructors' work all at once.
#[test]
fn unwinding_is_not_interrupted() {
    struct Twice<'a>(&'a AtomicUsize);
    impl Drop for Twice<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            self.0.fetch_add(1, SeqCst);
        }
    }
    let report = plain().explore(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let other = thread::spawn(move || {
            let _twice = Twice(&theirs);
            panic!("on the way out");
        });
        assert_ne!(number.load(SeqCst), 1, "in between");
        drop(other.join());
    });
    assert!(report.complete, "{:?}", report.failure);
}

#[test]
fn a_deadlock_says_who_waits_for_what_and_who_holds_it() {
    fn cross() {
        let locks = Arc::new((Mutex::new(()), RwLock::new(())));
        let theirs = locks.clone();
        let other = thread::spawn(move || {
            let _write = theirs.1.write().unwrap();
            let _mutex = theirs.0.lock().unwrap();
        });
        {
            let _mutex = locks.0.lock().unwrap();
            let _read = locks.1.read().unwrap();
        }
        other.join().unwrap();
    }
    fn held_for_ever() {
        let lock = Arc::new(Mutex::new(()));
        std::mem::forget(lock.lock());
        thread::spawn(move || drop(lock.lock())).join().unwrap();
    }
    fn nobody_notifies() {
        let lock = Mutex::new(());
        drop(Condvar::new().wait(lock.lock().unwrap()));
    }
    fn notified_too_early() {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let theirs = shared.clone();
        shared.1.notify_all();
        let other = thread::spawn(move || drop(theirs.1.wait(theirs.0.lock().unwrap())));
        other.join().unwrap();
    }
    type Row = (&'static str, fn(), u32, &'static [&'static str]);
    let table: [Row; 10] = [
        ("cross", cross, 1, &["T0 waits to read RwLock", "held by T1", "T1 waits for Mutex", "held by T0"]),
        (
            "a mutex never released",
            held_for_ever,
            0,
            &["T1 waits for Mutex", "held by T0", "T0 waits for T1 to end"],
        ),
        (
            "locked twice",
            || {
                let lock = Mutex::new(());
                let _first = lock.lock();
                drop(lock.lock());
            },
            0,
            &["T0 waits for Mutex", "held by T0"],
        ),
        ("nobody notifies", nobody_notifies, 0, &["T0 waits on Condvar", "notification that never comes"]),
        ("notified too early", notified_too_early, 0, &["T0 waits for T1 to end", "T1 waits on Condvar"]),
        ("parked", thread::park, 0, &["T0 is parked and nobody unparks it"]),
        ("barrier", || assert!(Barrier::new(2).wait().is_leader()), 0, &["T0 waits at Barrier"]),
        (
            "empty channel",
            || {
                let (_sender, receiver) = mpsc::channel::<()>();
                let _ = receiver.recv();
            },
            0,
            &["T0 waits for a message in channel"],
        ),
        (
            "full channel",
            || {
                let (sender, _receiver) = mpsc::sync_channel(1);
                sender.send(1).unwrap();
                sender.send(2).unwrap();
            },
            0,
            &["T0 waits for room in channel"],
        ),
        (
            "nobody takes it",
            || {
                let (sender, _receiver) = mpsc::sync_channel(0);
                sender.send(1).unwrap();
            },
            0,
            &["T0 waits until its message in channel"],
        ),
    ];
    for (name, body, bound, words) in table {
        let report = plain().explore(body);
        assert_eq!(verdict(&report), Some((FailureKind::Deadlock, bound)), "{name}");
        let failure = failure(&report);
        for word in words {
            assert!(failure.message.contains(word), "{name}: {word:?} in {:?}", failure.message);
        }
        assert!(failure.waiting.iter().all(|entry| failure.message.contains(&entry.words)), "{name}");
        assert!(
            failure.waiting.iter().all(|entry| entry.location.is_some()),
            "{name}: {:?}",
            failure.waiting
        );
    }
}

#[test]
fn the_holders_are_named_as_threads_too() {
    let report = plain().explore(|| {
        let lock = Arc::new(RwLock::new(()));
        let theirs = lock.clone();
        let _read = lock.read().unwrap();
        thread::spawn(move || drop(theirs.write())).join().unwrap();
    });
    let waiting = &failure(&report).waiting;
    let of =
        |thread: usize| waiting.iter().find(|entry| entry.thread == ThreadId::new(thread)).expect("it waits");
    assert_eq!(of(0).held_by, [ThreadId::new(1)]);
    assert_eq!(of(1).held_by, [ThreadId::new(0)]);
}

/// A thread that is still blocked when the test closure returns is a deadlock: the execution ends when all have.
#[test]
fn detached_threads_must_end_too() {
    let detached_then_blocked = || drop(thread::spawn(thread::park));
    assert_eq!(verdict(&plain().explore(detached_then_blocked)), Some((FailureKind::Deadlock, 0)));
    // Those that can go on do so after the test closure has returned.
    let report = plain().explore(|| {
        let number = Arc::new(AtomicUsize::new(0));
        drop(thread::spawn(move || number.fetch_add(1, SeqCst)));
    });
    assert!(report.complete && report.bounds[0].max_steps >= 4, "{report:?}");
}

/// A thread is named by the way it was spawned, whatever the schedule.
#[test]
fn threads_have_names() {
    let report = plain().explore(|| {
        let named = thread::Builder::new().name("worker".into());
        let parent = named.spawn(|| thread::spawn(thread::park).join()).unwrap();
        let sibling = thread::spawn(thread::yield_now);
        assert_eq!(parent.thread().name(), Some("worker"));
        assert_eq!(sibling.thread().name(), None);
        sibling.join().unwrap();
        drop(parent.join());
    });
    let threads = &failure(&report).trace.threads;
    let mut paths: Vec<(&str, Option<&str>)> =
        threads.iter().map(|thread| (thread.path.as_str(), thread.name.as_deref())).collect();
    paths.sort_unstable();
    let expected = [("main", None), ("main.0", Some("worker")), ("main.0.0", None), ("main.1", None)];
    assert_eq!(paths, expected);
}

#[expect(unconditional_recursion, reason = "that is the point")]
fn endless(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; 64]);
    endless(depth + 1) + frame[depth % 64]
}

#[test]
fn a_stack_overflow_is_a_failure() {
    check_verdicts(
        &plain(),
        &[
            (
                "in a thread",
                || drop(thread::spawn(|| endless(0)).join()),
                Some((FailureKind::StackOverflow, 0)),
            ),
            ("in the test closure", || assert!(endless(0) > 0), Some((FailureKind::StackOverflow, 0))),
        ],
    );
    let report = plain().stack_size(64 * 1024).explore(|| drop(thread::spawn(|| endless(0)).join()));
    let failure = failure(&report);
    assert!(failure.message.contains("T1") && failure.message.contains("65536"), "{failure}");
    // The process is fine afterwards.
    assert!(plain().explore(|| thread::spawn(|| ()).join().unwrap()).complete);
}

fn poisons() {
    let lock = Arc::new(Mutex::new(()));
    let theirs = lock.clone();
    let other = thread::spawn(move || {
        let _guard = theirs.lock().unwrap();
        panic!("expected");
    });
    assert!(other.join().is_err());
    assert!(lock.is_poisoned());
}

/// Programs keep expected panics quiet so: what panics mean is known all the same.
#[test]
fn a_panic_hook_of_the_program_changes_nothing() {
    fn sets_a_hook() {
        std::panic::set_hook(Box::new(|_| ()));
        poisons();
    }
    assert!(plain().explore(poisons).complete);
    std::panic::set_hook(Box::new(|_| ()));
    assert!(plain().explore(poisons).complete);
    assert_eq!(failure(&plain().explore(|| panic!("told"))).message, "told");
    assert!(plain().explore(sets_a_hook).complete);
    drop(std::panic::take_hook());
    assert!(plain().explore(poisons).complete);
}

/// Waits in a destructor, in the middle of a panic, for a lock that nobody lets go of; catches the panic; and goes on with `then`.
#[cfg(target_os = "linux")]
fn waits_for_ever_in_a_panic(then: fn(&Mutex<()>, thread::JoinHandle<()>)) {
    struct Waits<'a>(&'a Mutex<()>);
    impl Drop for Waits<'_> {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    let shared = Arc::new((Mutex::new(()), Barrier::new(2)));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        let _guard = theirs.0.lock();
        theirs.1.wait();
        thread::park();
    });
    shared.1.wait();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _waits = Waits(&shared.0);
        panic!("expected");
    }));
    assert!(caught.is_err());
    then(&shared.0, other);
}

/// An execution that is given up leaves nothing behind, also where a thread is in the middle of a panic of its own, and waits for others after that.
#[test]
#[cfg(target_os = "linux")]
fn stacks_are_used_again_after_panics_that_an_end_has_interrupted() {
    let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    let programs: [fn(); 2] = [
        || waits_for_ever_in_a_panic(|_, other| drop(other.join())),
        || waits_for_ever_in_a_panic(|lock, _| while lock.try_lock().is_err() {}),
    ];
    for program in programs {
        let explore = |executions| {
            let report = plain().max_bound(0).keep_going(true).explore(move || {
                let _ = choose(executions);
                program();
            });
            assert_eq!(failure(&report).kind, FailureKind::Deadlock);
            report.execution_count()
        };
        explore(1);
        let before = mapped();
        assert!(explore(100) >= 100);
        assert!(mapped() < before + 50, "{before} mappings, and {} now", mapped());
        assert!(!std::thread::panicking(), "the replay has left a panic");
    }
}

/// Run by the next test.
#[test]
#[ignore]
fn is_cut_short() {
    plain().max_executions(2).check(|| {
        let other = thread::spawn(thread::yield_now);
        thread::yield_now();
        other.join().unwrap();
    });
}

/// Of a test that passes, the harness shows nothing that is printed.
#[test]
fn without_the_tool_a_line_says_that_a_search_was_cut_short() {
    let output = run_alone("ends::is_cut_short", &["--exact"]);
    assert!(output.status.success(), "{output:?}");
    let expected = "icb: ends::is_cut_short is incomplete: stopped by the limit on executions after 2 executions; proved: \
                    no failure in any execution with at most 1 preemption\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}

/// Run by the next test.
#[test]
#[ignore]
fn has_two_models() {
    let model = |count| {
        plain().check(move || {
            let sum = Arc::new(AtomicUsize::new(0));
            let same = sum.clone();
            let other = thread::spawn(move || same.store(same.load(SeqCst) + 1, SeqCst));
            sum.store(sum.load(SeqCst) + 1, SeqCst);
            other.join().unwrap();
            assert!(sum.load(SeqCst) >= count, "an increment is lost");
        });
    };
    model(1);
    model(2);
}

/// A schedule is of one model of its test.
#[test]
fn without_the_tool_a_failure_says_of_which_model_its_schedule_is() {
    let replayed = |schedule: &str, model: Option<&str>| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "ends::has_two_models"]);
        command.envs((!schedule.is_empty()).then_some(("ICB_REPLAY", schedule)));
        command.envs(model.map(|model| ("ICB_REPLAY_MODEL", model)));
        let output = command.output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let found = replayed("", None);
    let schedule =
        found.split("replay it with ICB_REPLAY='").nth(1).expect(&found).split('\'').next().unwrap();
    let line = format!("\nreplay it with ICB_REPLAY='{schedule}' ICB_REPLAY_MODEL=1\n");
    assert!(found.contains(&line), "{found}");
    let again = replayed(schedule, Some("1"));
    assert!(again.contains("panic: an increment is lost") && again.contains(&line), "{again}");
    let of_the_first = replayed(schedule, Some("0"));
    assert!(of_the_first.contains("1 passed"), "{of_the_first}");
}
